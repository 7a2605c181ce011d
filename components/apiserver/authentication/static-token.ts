import type { UserInfo } from "../call/request.ts"
import { withAuthenticated, type TokenAuthenticator } from "./authenticator.ts"

/** Authenticates tokens with fixed users, such as the administrator's. */
export function createStaticTokens(users: Readonly<Record<string, UserInfo>>): TokenAuthenticator {
  const byToken = new Map(
    Object.entries(users).map(([token, user]) => [
      token,
      { user: { ...user, groups: withAuthenticated(user.groups) } },
    ]),
  )
  return { authenticate: (token) => byToken.get(token) }
}
