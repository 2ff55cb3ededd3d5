import pytest

from clew.remember.names import MAX_NAMES, names_in, normalise, title_names


def test_a_title_in_running_text_is_among_the_names() -> None:
    names = names_in("He starred in Kiss and Tell with Shirley Temple.")
    assert {"kiss and tell", "shirley temple", "kiss", "temple"} <= set(names)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("We watched Apollo 13 twice", "apollo 13"),
        ("written by J. K. Rowling", "j k rowling"),
        ("In the Heat of the Night won", "in the heat of the night"),
        ('they call it "blue green deploys"', "blue green deploys"),
        ("run `make release` first", "make release"),
        ("see *the release checklist* for it", "the release checklist"),
        ("die École Normale Supérieure", "ecole normale superieure"),
        ("it was Alice's idea", "alice"),
    ],
)
def test_runs_and_quotations_give_names(text: str, name: str) -> None:
    assert name in names_in(text)


@pytest.mark.parametrize(
    "text", ["The build fails. Use it. However, run tests.", "nothing here is written large", "When? Now! Because."]
)
def test_common_words_that_begin_a_sentence_are_no_names(text: str) -> None:
    assert names_in(text) == []


def test_a_rare_word_counts_even_where_a_sentence_begins() -> None:
    assert names_in("Mercury is a planet.") == ["mercury"]


def test_a_sentence_ends_a_run() -> None:
    assert "temple apollo" not in names_in("with Shirley Temple. Apollo flew.")


def test_connectors_never_stand_at_the_ends_of_a_name() -> None:
    ends = {"of", "and", "the", "with"}
    for name in names_in("the Bank of England and the House of Lords with Friends of"):
        assert name.split()[0] not in ends
        assert name.split()[-1] not in ends


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Kiss and Tell (1945 film)", ["kiss and tell 1945 film", "kiss and tell"]),
        ("The Beatles", ["the beatles", "beatles"]),
        ("Beyoncé", ["beyonce"]),
        ("AuthService", ["authservice"]),
        ("The", []),
        ("In the", []),
        ("Config", []),
        ("2024", []),
        ("", []),
        (None, []),
    ],
)
def test_a_title_gives_itself_and_its_shorter_forms(title: str | None, names: list[str]) -> None:
    assert title_names(title) == names


@pytest.mark.parametrize(
    "title", ["Schindler's List", "Spider-Man: Far from Home", "Beyoncé Live", "O'Neill & Sons"]
)
def test_text_and_title_are_normalised_alike(title: str) -> None:
    assert normalise(title) in [*names_in(f"we saw {title} there"), *names_in(f'we saw "{title}" there')]


@pytest.mark.parametrize(
    "text", ["A" * 500_000, "Ab " * 160_000, '"' * 500_000, "Of of " * 80_000, "`a " * 160_000]
)
def test_a_hostile_text_gives_no_more_names_than_the_limit(text: str) -> None:
    assert len(names_in(text)) <= MAX_NAMES
