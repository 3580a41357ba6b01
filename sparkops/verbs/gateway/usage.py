"""`gateway usage`: what people used."""

from sparkops.core.fleet.usage import used
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import reached
from sparkops.verbs.gateway.options import UsageOptions
from sparkops.verbs.gateway.place import place_of, text_of_usage


def usage(options: UsageOptions, report: Report) -> Answer:
    """Sums by person and model over the last days."""
    with reached(options.where, report) as session:
        place = place_of(session, options.gateway)
        today = session.now()[:10]
        found = used(text_of_usage(session, place), today, options.days)
        rows = [{"name": person, "model": model, **sums} for (person, model), sums in found.items()]
        return session.answer({"gateway": place.name, "days": options.days, "until": today, "usage": rows})
