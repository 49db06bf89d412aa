import type { StackEnvironment } from '../environment.ts';
import type { ServiceName } from '../services/services.ts';

interface TourFacts {
  readonly environment: StackEnvironment;
  /** The file with the generated service token. */
  readonly serviceTokenFile: string;
}

/** Commands for a POSIX shell with curl and node. They can be pasted repeatedly. */
export function tourOf(services: readonly ServiceName[], facts: TourFacts): string {
  return services.flatMap((name) => tours[name](facts)).join('\n');
}

const tours = { identity: identityTour, issues: issuesTour };

function issuesTour({ environment }: TourFacts): string[] {
  return [
    `ISSUES=http://localhost:${environment.ports.issues}/api/v1/issues`,
    heading('She creates an issue with her access token:'),
    'ISSUE=$(curl -sS "$ISSUES/" -H "Authorization: Bearer $ACCESS_TOKEN" -H \'Content-Type: application/json\' \\',
    '  -d \'{"title":"The printer is on fire","description":"Since noon.","priority":"HIGH"}\'); printf "%s\\n" "$ISSUE"',
    'KEY=$(printf %s "$ISSUE" | field key)',
    heading('She starts work on it and adds a comment:'),
    'curl -sS "$ISSUES/$KEY/status/" -H "Authorization: Bearer $ACCESS_TOKEN" -H \'Content-Type: application/json\' \\',
    '  -d \'{"status":"IN_PROGRESS","comment":"Looking for an extinguisher."}\' | field status',
    heading('She searches for it and reads its history:'),
    'curl -sS "$ISSUES/?search=printer&is_open=true" -H "Authorization: Bearer $ACCESS_TOKEN"; echo',
    'curl -sS "$ISSUES/$KEY/activity/" -H "Authorization: Bearer $ACCESS_TOKEN"; echo',
  ];
}

function identityTour({ environment, serviceTokenFile }: TourFacts): string[] {
  return [
    `IDENTITY=http://localhost:${environment.ports.identity}`,
    'NAME="ada-$(node -p "Date.now()")"; EMAIL="$NAME@example.com"',
    'field() { node -pe \'JSON.parse(require("fs").readFileSync(0, "utf8"))[process.argv[1]]\' "$1"; }',
    heading('A trusted backend creates an identity:'),
    'curl -sS "$IDENTITY/internal/identities" \\',
    `  -H "X-Service-Token: ${serviceTokenExpression(environment, serviceTokenFile)}" -H 'Content-Type: application/json' \\`,
    '  -d "{\\"email\\":\\"$EMAIL\\",\\"username\\":\\"$NAME\\",\\"password\\":\\"correct horse battery staple\\"}"; echo',
    heading('She logs in and requests her claims:'),
    'TOKENS=$(curl -sS "$IDENTITY/token" -H \'Content-Type: application/json\' \\',
    '  -d "{\\"grant_type\\":\\"password\\",\\"email\\":\\"$EMAIL\\",\\"password\\":\\"correct horse battery staple\\"}")',
    'ACCESS_TOKEN=$(printf %s "$TOKENS" | field access_token)',
    'curl -sS "$IDENTITY/userinfo" -H "Authorization: Bearer $ACCESS_TOKEN"; echo',
    heading('She exchanges her refresh token for a new pair:'),
    'REFRESH_TOKEN=$(printf %s "$TOKENS" | field refresh_token)',
    'curl -sS "$IDENTITY/token/refresh" -H \'Content-Type: application/json\' \\',
    '  -d "{\\"refresh_token\\":\\"$REFRESH_TOKEN\\"}"; echo',
    heading('The metadata and keys with which any backend verifies her tokens:'),
    'curl -sS "$IDENTITY/.well-known/openid-configuration"; echo',
    'curl -sS "$IDENTITY/jwks"; echo',
  ];
}

// Does not use a shell comment, because an interactive zsh would run it as a command.
function heading(text: string): string {
  return `echo; echo ${quoteForShell(text)}`;
}

/** An expression that reads the token, so that the tour does not contain it. */
function serviceTokenExpression({ passedOn }: StackEnvironment, serviceTokenFile: string): string {
  if (passedOn.SERVICE_TOKEN !== undefined) return '$SERVICE_TOKEN';
  return `$(cat ${quoteForShell(passedOn.SERVICE_TOKEN_FILE ?? serviceTokenFile)})`;
}

/** A word of a shell command with this value. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
