import json
import zipfile
from pathlib import Path

from indexer.training.catalog_lookup import Catalog
from indexer.training.everyday_tools import EVERYDAY_PROGRAMS, read_everyday_tools, toolkit_functions

TOOLKIT = b'''
class Player:
    def play(self, title: str, volume: int) -> str:
        """Play a song on the speaker of this room.

        Args:
            title (str): What it is called
            volume: How loud, 0 to 100
        Returns:
            str: what is playing
        """

    async def aplay(self, title: str) -> str:
        """Play a song on the speaker of this room."""

    def get_tools(self) -> list[str]:
        """Return the functions of this toolkit as tools."""

    def _connect(self) -> None:
        """Open the connection to the speaker of this room."""

    def stop(self) -> None:
        """Stop."""
'''
STRINGS = {
    "services": {
        "turn_on": {
            "name": "Turn on",
            "description": "Turns on one or more lights.",
            "fields": {"brightness": {"name": "Brightness", "description": "How bright it shines."}},
        },
        "nameless": {},
    }
}


def wheels(folder: Path) -> list[Path]:
    home, _, camel = (folder / program.wheels.replace("*", "py3-none-any") for program in EVERYDAY_PROGRAMS)
    with zipfile.ZipFile(home, "w") as archive:
        archive.writestr("homeassistant/components/light/translations/en.json", json.dumps(STRINGS))
    with zipfile.ZipFile(camel, "w") as archive:
        archive.writestr("camel/toolkits/player_toolkit.py", TOOLKIT)
        archive.writestr("camel/agents/other.py", TOOLKIT)
    return [home, camel]


def test_methods_with_a_docstring_are_tools_and_their_arguments_are_told(tmp_path: Path) -> None:
    (document,) = toolkit_functions(TOOLKIT, "player")
    assert (document.namespace, document.name) == ("player", "play")
    assert document.description == "Play a song on the speaker of this room."
    assert document.parameter_names == "title\nvolume"
    assert document.parameter_descriptions == "What it is called\nHow loud, 0 to 100"


def test_services_and_toolkits_are_read_from_wheels_that_are_not_installed(tmp_path: Path) -> None:
    light, play = read_everyday_tools(wheels(tmp_path))
    assert (light.id, play.id) == ("homeassistant:light/turn_on", "camel:player/play")
    assert light.document.description == "Turns on one or more lights."
    assert light.document.parameter_names == "brightness"


def test_the_checks_find_everyday_tools_where_the_wheels_are(tmp_path: Path) -> None:
    wheels(tmp_path)
    catalog = Catalog({"TOOLSCOUT_WHEELS": str(tmp_path)})
    found = catalog.find("homeassistant:light/turn_on")
    assert found is not None
    assert found.summary == "Turns on one or more lights."
    assert catalog.find("camel:player/none") is None
    assert not Catalog({}).covers("agno:spotify/play_track")
