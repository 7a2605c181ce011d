import type { SignInConfig } from "./sign-in-config.ts"
import type { SignIn, SignInOptions } from "./sign-in.ts"

/** Opens sign-in by other programs, whose code is loaded only where it is configured. @throws ConfigurationError */
export async function openedSignIn(
  config: SignInConfig | undefined,
  options: Omit<SignInOptions, "config">,
): Promise<SignIn | undefined> {
  if (config === undefined) return undefined
  const { openSignIn } = await import("./sign-in.ts")
  return openSignIn({ config, ...options })
}
