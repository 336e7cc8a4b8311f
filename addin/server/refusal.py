"""What is said to a client in place of an answer."""


class Refusal(Exception):
    """One sentence, with a status that xlwings' client does not try again: Excel shows #VALUE! and the sentence."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status
