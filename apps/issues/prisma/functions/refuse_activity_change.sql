-- The history is append-only, for every role.
CREATE OR REPLACE FUNCTION public.refuse_activity_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    RAISE EXCEPTION 'activity is append-only';
END
$function$;

CREATE TRIGGER activity_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON activity FOR EACH STATEMENT EXECUTE FUNCTION refuse_activity_change();
