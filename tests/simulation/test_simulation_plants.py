"""Planted faults: each is found within the seeds it says, so that a bug of its kind would not pass unseen; none stays."""

import pytest

from ggactors.testing.simplants import PLANTS
from ggactors.testing.simplay import play


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fault_is_found_within_its_number_of_seeds(name):
    plant = PLANTS[name]
    with plant.planted():
        found = next((seed for seed in range(plant.within) if play(seed).violations), None)
    assert found is not None, f"{name} ({plant.breaks}) was not found in {plant.within} seeds"
    assert not play(found).violations, f"seed {found} breaks a law without {name}"


@pytest.mark.parametrize("name", PLANTS)
def test_a_plant_leaves_the_code_as_it_was(name):
    plant = PLANTS[name]
    before = [vars(owner)[attribute] for owner, attribute, _ in plant.spoil()]
    with plant.planted():
        assert [vars(owner)[attribute] for owner, attribute, _ in plant.spoil()] != before
    assert [vars(owner)[attribute] for owner, attribute, _ in plant.spoil()] == before
