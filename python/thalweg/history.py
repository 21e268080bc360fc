"""How a run went, epoch by epoch."""

from typing import TYPE_CHECKING

from thalweg._core import EpochRecord

if TYPE_CHECKING:
    import pandas


class History(list[EpochRecord]):
    """The records of all epochs."""

    def to_frame(self) -> "pandas.DataFrame":
        """A pandas frame with a row for each epoch; scores of validations are columns ``validation_<name>``."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            if error.name != "pandas":
                raise
            raise ModuleNotFoundError("History.to_frame and plot need pandas: pip install pandas", name="pandas") from None

        fields = ("epoch", "iteration", "loss", "learning_rate", "seconds", "samples_per_second", "data_wait_share")
        rows = []
        for record in self:
            row = {field: getattr(record, field) for field in fields}
            row.update({f"validation_{name}": value for name, value in record.validation.items()})
            rows.append(row)
        return pandas.DataFrame(rows).set_index("epoch") if rows else pandas.DataFrame(columns=fields)

    def plot(self, **options):
        """Loss and scores over the epochs; needs matplotlib. Options go to pandas.DataFrame.plot."""
        frame = self.to_frame()
        scores = [name for name in frame.columns if name == "loss" or name.startswith("validation_")]
        return frame[scores].plot(**options)
