import type { AuthorizationConfig } from "./authorization-config.ts"
import type { ConfiguredAuthorization, ConfiguredAuthorizationOptions } from "./configured-authorization.ts"

/** Reads who decides about requests; the code for that is loaded only where it is configured. @throws ConfigurationError */
export async function openedAuthorization(
  config: AuthorizationConfig | undefined,
  options: Omit<ConfiguredAuthorizationOptions, "config">,
): Promise<ConfiguredAuthorization | undefined> {
  if (config === undefined) return undefined
  const { openAuthorization } = await import("./configured-authorization.ts")
  return openAuthorization({ config, ...options })
}
