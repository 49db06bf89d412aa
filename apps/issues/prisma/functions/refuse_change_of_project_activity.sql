-- The history of projects is append-only, for every role.
CREATE OR REPLACE FUNCTION public.refuse_change_of_project_activity()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    RAISE EXCEPTION 'project_activity is append-only';
END
$function$;

CREATE TRIGGER project_activity_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON project_activity FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_project_activity();
