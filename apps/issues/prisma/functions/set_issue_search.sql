CREATE OR REPLACE FUNCTION public.set_issue_search()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    NEW.search := issue_words(NEW.title, NEW.description);
    RETURN NEW;
END
$function$;

CREATE TRIGGER issues_search_inserted BEFORE INSERT ON issues FOR EACH ROW EXECUTE FUNCTION set_issue_search();
CREATE TRIGGER issues_search_updated BEFORE UPDATE OF title, description ON issues FOR EACH ROW WHEN (old.title IS DISTINCT FROM new.title OR old.description IS DISTINCT FROM new.description) EXECUTE FUNCTION set_issue_search();
