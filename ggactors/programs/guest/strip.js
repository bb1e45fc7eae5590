// Takes the types off TypeScript. Runs in an engine of its own, where sucrase is loaded already; programs are read here, never run.
// Line numbers stay as they are.
() => {
  const { transform } = globalThis.Sucrase;
  const { stringify } = JSON;
  const options = { transforms: ["typescript"], disableESTransforms: true };
  const strip = (text) => {
    try {
      return stringify({ end: "stripped", code: transform(text, options).code });
    } catch (error) {
      const message = String(error.message).replace(/^Error transforming .*?: /, "").replace(/ \(\d+:\d+\)$/, "");
      return stringify({ end: "uncompiled", type: "SyntaxError", message, line: error.loc?.line ?? null });
    }
  };
  return { strip };
}
