-- A cached text that shows labels is used as long as the `rev` of all labels is the same.
CREATE OR REPLACE FUNCTION public.increase_label_rev()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    UPDATE label_catalog SET rev = rev + 1;
    RETURN NULL;
END
$function$;

CREATE TRIGGER labels_rev AFTER DELETE OR UPDATE OR TRUNCATE ON labels FOR EACH STATEMENT EXECUTE FUNCTION increase_label_rev();
