"""Responses as code: programs in a sandbox whose only reach is ``gg.*`` (X1 to X7).

The port is small. ``sdk.Sdk(operations, language)`` is made once per agent of its operations' declarations: it has the summary
for the prompt, the pages of the documentation and the search in them. ``pool.open_programs(languages, cache=…)`` is opened once
per run; its ``run(program, sdk=…, serve=…, limits=…)`` runs one program and answers with a ``ProgramResult``.
``artifacts.problems(languages)`` says beforehand why programs could not run here.
"""
