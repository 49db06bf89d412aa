-- The state of the sync has a `rev` of its own: a write to it does not wait for the lock of the issue.
CREATE OR REPLACE FUNCTION public.increase_rev()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    NEW.rev := OLD.rev + 1;
    RETURN NEW;
END
$function$;

CREATE TRIGGER tracker_links_rev BEFORE UPDATE ON tracker_links FOR EACH ROW EXECUTE FUNCTION increase_rev();
