import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { loadKubeconfig } from "../../pkg/client/kubeconfig.ts"
import { run } from "../harness/kubectl.ts"
import { EXECUTABLE, startServer } from "../harness/server.ts"
import { CLIENT, startOpenIdProvider } from "./openid-provider.ts"

const PLUGIN = join(import.meta.dirname, "exec-plugin.program.ts")
const SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
const REVIEW = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" })

describe("kubectl with an exec plugin, and a real OpenID provider", () => {
  test("signs users in, also when the provider has changed its key, and serves them while it is down", async () => {
    // given a server that trusts the provider
    using provider = await startOpenIdProvider()
    const dir = mkdtempSync(join(tmpdir(), "k3ts-sign-in-"))
    using _dir = { [Symbol.dispose]: () => rmSync(dir, { recursive: true }) }
    const [caFile, configuration] = [join(dir, "provider.pem"), join(dir, "authentication.yaml")]
    writeFileSync(caFile, provider.caPem)
    writeFileSync(
      configuration,
      JSON.stringify({
        apiVersion: "apiserver.config.k8s.io/v1",
        kind: "AuthenticationConfiguration",
        jwt: [
          {
            issuer: { url: provider.issuer, audiences: [CLIENT.id], certificateAuthority: provider.caPem },
            claimValidationRules: [
              { expression: "claims.email_verified == true", message: "the address must be verified" },
            ],
            claimMappings: {
              username: { expression: "'oidc:' + claims.email" },
              groups: { claim: "groups", prefix: "oidc:" },
            },
          },
        ],
      }),
    )
    await using server = await startServer({ flags: ["--authentication-config", configuration] })

    // and a kubeconfig whose users sign in there
    const userOf = (name: string) => ({
      name,
      user: {
        exec: {
          apiVersion: "client.authentication.k8s.io/v1beta1",
          interactiveMode: "Never",
          command: process.execPath,
          args: [PLUGIN, provider.issuer, caFile, name],
        },
      },
    })
    const { ca = "", server: url } = loadKubeconfig(server.kubeconfig)
    const kubeconfig = join(dir, "kubeconfig.yaml")
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster: { server: url, "certificate-authority-data": btoa(ca) } }],
        users: ["jane", "joe", "mallory"].map(userOf),
        contexts: ["jane", "joe", "mallory"].map((name) => ({ name, context: { cluster: "c", user: name } })),
        "current-context": "jane",
      }),
    )
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: dir }
    const whoIs = async (program: readonly [string, ...string[]], name: string) => {
      const args = ["--context", name, "create", "--raw", SELF, "-f", "-"]
      const { code, out, err } = await run(program[0], [...program.slice(1), ...args], { env, input: REVIEW })
      if (code !== 0) return err
      return (JSON.parse(out) as { status: { userInfo: { username: string; groups: readonly string[] } } }).status
        .userInfo
    }
    const upstream = ["kubectl"] as const
    const ours = [EXECUTABLE, "kubectl"] as const
    const groups = ["oidc:dev", "oidc:ops", "system:authenticated"]

    // then a user whom the provider knows is a user of the cluster, for each kubectl
    expect(await whoIs(upstream, "jane")).toMatchObject({ username: "oidc:jane@acme.com", groups })
    expect(await whoIs(ours, "joe")).toMatchObject({ username: "oidc:joe@acme.com", groups })
    // and one whose claims break a rule is none
    expect(await whoIs(upstream, "mallory")).toMatch(/You must be logged in|Unauthorized/)

    // when the provider has another key
    provider.rotate()

    // then its new tokens count
    expect(await whoIs(ours, "jane")).toMatchObject({ username: "oidc:jane@acme.com", groups })

    // when the provider is down
    const { out } = await run(process.execPath, [PLUGIN, provider.issuer, caFile, "joe"])
    const { token } = (JSON.parse(out) as { status: { token: string } }).status
    provider.stop()

    // then a token that a user has is as good as before
    const self = await server.raw(
      "POST",
      SELF,
      { authorization: `Bearer ${token}`, "content-type": "application/json" },
      REVIEW,
    )
    expect(self.status).toBe(201)
  }, 60_000)
})
