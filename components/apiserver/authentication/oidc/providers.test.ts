import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { realClock } from "../../../../pkg/clock/real.ts"
import { silent } from "../../../../pkg/log/log.ts"
import type { JWTAuthenticator } from "../configuration/fields.ts"
import { newProviderKey, PROVIDER_CA, startProvider, type TestProvider } from "./provider.fixtures.ts"
import { Providers } from "./providers.ts"

let provider: TestProvider
let providers: Providers
/** How far the server's clock is ahead of the provider's, in milliseconds. */
let aheadMs = 0

beforeEach(async () => {
  aheadMs = 0
  provider = await startProvider()
  const clock = { ...realClock, now: () => realClock.now() + aheadMs, monotonic: () => realClock.monotonic() + aheadMs }
  providers = new Providers({ clock, log: silent })
  const authenticator: JWTAuthenticator = {
    issuer: { url: provider.issuer, audiences: ["k3ts"], certificateAuthority: PROVIDER_CA },
    claimMappings: { username: { claim: "sub", prefix: "" }, groups: {}, uid: {} },
  }
  await providers.replace([authenticator])
  await provider.askedForKeys(1)
  await providers.authenticate(provider.token())
})
afterEach(() => {
  providers.stop()
  provider[Symbol.dispose]()
})

const whoIs = async (token: string) => {
  const verdict = await providers.authenticate(token)
  return verdict === undefined ? undefined : "user" in verdict ? verdict.user.name : verdict.error
}

describe("the tokens of a provider", () => {
  test("count no longer when they have expired, though they were used before", async () => {
    const token = provider.token()
    expect(await whoIs(token)).toBe("jane")
    aheadMs = 2 * 3_600_000
    expect(await whoIs(token)).toContain("oidc: token is expired")
  })

  test("may be used up to five minutes before they are valid, since clocks differ", async () => {
    const token = provider.token({ nbf: Math.floor(Date.now() / 1000) })
    aheadMs = -4 * 60_000
    expect(await whoIs(token)).toBe("jane")
    aheadMs = -6 * 60_000
    expect(await whoIs(provider.token({ nbf: Math.floor(Date.now() / 1000) }))).toContain("before the nbf")
  })

  test("count as long as the provider is down", async () => {
    const token = provider.token()
    provider[Symbol.dispose]()
    aheadMs = 30 * 60_000
    expect(await whoIs(token)).toBe("jane")
    expect(await whoIs(provider.token({ sub: "joe" }))).toBe("joe")
  })

  test("count no longer five minutes after their key was withdrawn", async () => {
    // given a token that was used, whose key is withdrawn
    const token = provider.token()
    expect(await whoIs(token)).toBe("jane")
    provider.keys = [newProviderKey()]

    // when it is used five minutes later, and the keys have been asked for again
    aheadMs = 6 * 60_000
    await whoIs(token)
    await provider.askedForKeys(2)

    // then it does not count
    while ((await whoIs(token)) === "jane") await new Promise(setImmediate)
    expect(await whoIs(token)).toContain("failed to verify id token signature")
  })
})
