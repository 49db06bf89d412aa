CREATE OR REPLACE FUNCTION public.index_issue_search()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    INSERT INTO issue_search VALUES (NEW.id, NEW.search)
        ON CONFLICT (issue_id) DO UPDATE SET words = EXCLUDED.words;
    RETURN NULL;
END
$function$;

CREATE TRIGGER issues_search_index_inserted AFTER INSERT ON issues FOR EACH ROW EXECUTE FUNCTION index_issue_search();
CREATE TRIGGER issues_search_index_updated AFTER UPDATE OF search ON issues FOR EACH ROW WHEN (old.search IS DISTINCT FROM new.search) EXECUTE FUNCTION index_issue_search();
