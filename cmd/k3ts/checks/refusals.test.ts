import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { resolveFlags, splitArguments } from "../cli/parse.ts"
import { serverFlags } from "../config/server-flags.ts"
import { serverVocabulary } from "../config/server-vocabulary.ts"
import { k3sFlags } from "../k3s/flags.ts"
import { refuseBeforeWriting } from "./refusals.ts"

let dir: string
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), "k3ts-refusals-"))))
afterAll(() => rmSync(dir, { recursive: true }))

const refuse = (...argv: readonly string[]) =>
  refuseBeforeWriting(
    resolveFlags(serverFlags, {
      written: splitArguments([...argv, `--data-dir=${join(dir, "data")}`], serverFlags, k3sFlags),
      env: { K3TS_CONFIG: "/dev/null" },
      config: serverVocabulary,
    }),
  )
const config = (group: string, kind: string, rest: string) => `apiVersion: ${group}\nkind: ${kind}\n${rest}`
const SERVER = "apiserver.config.k8s.io/v1"

describe("before it writes anything, a start is refused", () => {
  test.each<[flag: string, text: string, message: string, more?: string[]]>([
    [
      "authentication-config",
      config(SERVER, "AuthenticationConfiguration", "jwt:\n- issuer: {url: http://a, audiences: [b]}\n"),
      ":4: jwt[0].issuer.url",
    ],
    [
      "authorization-config",
      config(SERVER, "AuthorizationConfiguration", "authorizers:\n- {type: Nobody, name: a}\n"),
      ":4: authorizers[0].type",
    ],
    ["token-auth-file", "token,jane\n", "FILE"],
    ["authentication-token-webhook-config-file", "clusters: []\n", "FILE"],
    ["authorization-webhook-config-file", "clusters: []\n", "FILE", ["--authorization-mode=Webhook"]],
    ["oidc-ca-file", "none", "--oidc-*", ["--oidc-issuer-url=https://a.example.org", "--oidc-client-id=b"]],
    ["client-ca-file", "none", "FILE has no certificate in PEM"],
    ["service-account-key-file", "none", "FILE cannot be used"],
    ["audit-policy-file", config("audit.k8s.io/v1", "Policy", "rules: [{level: All}]\n"), ":3: rules[0].level"],
    [
      "admission-control-config-file",
      config(SERVER, "AdmissionConfiguration", "plugins: [{name: Nope}]\n"),
      ":3: plugins[0].name",
    ],
    ["encryption-provider-config", "kind: Nothing\n", "FILE"],
    ["audit-webhook-config-file", "clusters: []\n", "FILE"],
    ["requestheader-client-ca-file", "none", "FILE has no certificate in PEM"],
    ["service-account-signing-key-file", "none", "FILE cannot be used"],
    ["tls-cert-file", "none", "FILE: has no certificate in PEM", ["--tls-private-key-file=/etc/hostname"]],
  ])("by a wrong --%s, with flag, file and mend", async (flag, text, message, more = []) => {
    const file = join(dir, flag)
    writeFileSync(file, text)
    const refused = await refuse(`--${flag}=${file}`, ...more).catch((err: Error) => err.message)
    expect(refused).toContain(message.startsWith(":") ? `${file}${message}` : message.replace("FILE", file))
    expect(refused).toMatch(new RegExp(`--${flag}\\b|--oidc-\\*`))
    expect(existsSync(join(dir, "data"))).toBe(false)
  })

  test("and by nothing where no flag is given", () => refuse())
})
