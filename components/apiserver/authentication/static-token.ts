import type { UserInfo } from "../call/request.ts"
import { withAuthenticated, type TokenAuthenticator } from "./authenticator.ts"

/** Authenticates tokens with fixed users, such as the administrator's and those of a token file. */
export function createStaticTokens(users: Iterable<readonly [string, UserInfo]>): TokenAuthenticator {
  const byToken = new Map(
    [...users].map(([token, user]) => [token, { user: { ...user, groups: withAuthenticated(user.groups) } }]),
  )
  return { authenticate: (token) => byToken.get(token) }
}
