-- The day of the last reminder, so that a day has at most one, also if the due date is taken away and set again.
ALTER TABLE "issues" ADD COLUMN "reminded_on" DATE;
