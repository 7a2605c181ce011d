import type { RestConfig } from "../config/rest-config.ts"
import type { Environment } from "../environment/environment.ts"
import type { Credentials } from "./credentials.ts"

/** The credentials that a program gives. Source: client-go plugin/pkg/client/auth/exec. */
export function execCredentials(
  _config: RestConfig,
  { config: { command } }: NonNullable<RestConfig["exec"]>,
  _environment: Environment,
): Credentials {
  throw new Error(`credentials of the program ${command} cannot be asked for yet`)
}
