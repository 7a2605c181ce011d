import { expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createCa, newPrivateKey } from "../../pkg/pki/certificate.ts"
import { k3ts, startServer, type TestServer } from "./k3ts.ts"

const TEN_YEARS = {
  notBefore: new Date(Date.now() - 3_600_000),
  notAfter: new Date(Date.now() + 3650 * 24 * 3_600_000),
}

const command = (dataDir: string, ...words: readonly string[]) =>
  k3ts(["certificate", ...words, "--config=/dev/null", `--data-dir=${dataDir}`])

/** Returns the user of a bearer token; throws if the server's certificate is not trusted. */
function whoAmI(server: TestServer, ca: string, bearer: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `https://127.0.0.1:${server.port}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
      {
        method: "POST",
        ca,
        agent: false,
        headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
      },
      (answer) => {
        let body = ""
        answer.on("data", (part: Buffer) => (body += part.toString()))
        answer.on("end", () => resolve(/"username":"([^"]+)"/.exec(body)?.[1] ?? `${answer.statusCode} ${body}`))
      },
    )
    sent.on("error", reject)
    sent.end(JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }))
  })
}

test("k3ts certificate lists certificates, and makes the server renew them", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-certificate-"))
  const serving = () => readFileSync(join(dataDir, "server/tls/serving-kube-apiserver.crt"), "utf8")
  const admin = () => readFileSync(join(dataDir, "server/tls/client-admin.crt"), "utf8")
  expect((await command(dataDir, "check")).stderr).toContain("There is no cluster in")
  let server = await startServer({ dataDir, keep: true })
  // when asked
  const { stdout } = await command(dataDir, "check")
  // then
  expect(stdout).toMatch(/^FILENAME +SUBJECT +USAGES +EXPIRES +RESIDUAL TIME +STATUS\n/)
  expect(stdout).toMatch(/\nclient-ca.crt +k3ts-client-ca@\d+ +CertSign +\S+Z +9y\S* +OK\n/)
  expect(stdout).toMatch(/\nserving-kube-apiserver.crt +kube-apiserver +ServerAuth +\S+Z +364d +OK\n/)
  const json = JSON.parse((await command(dataDir, "check", "--output=json", "-s", "admin")).stdout) as {
    certificates: readonly object[]
  }
  expect(json.certificates).toMatchObject([
    { filename: "client-admin.crt", subject: "system:admin", usages: ["ClientAuth"], status: "OK" },
  ])
  // a server that runs is not disturbed
  expect(await command(dataDir, "rotate")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("stop it first") as string,
  })
  expect((await command(dataDir, "check", "-s", "scheduler")).stderr).toContain("part of the server")
  await server[Symbol.asyncDispose]()
  // when the administrator's certificate is rotated
  const [servingBefore, adminBefore] = [serving(), admin()]
  const rotated = await command(dataDir, "rotate", "--service", "admin")
  expect(rotated.stdout).toContain("client-admin: the next start makes a new certificate\nBacked up certificates to ")
  server = await startServer({ dataDir })
  // then only that is new, and the kubeconfig has it
  expect(serving()).toBe(servingBefore)
  expect(admin()).not.toBe(adminBefore)
  expect(readFileSync(server.kubeconfig, "utf8")).toContain(Buffer.from(admin()).toString("base64"))
  const [copy = ""] = readdirSync(join(dataDir, "server")).filter((name) => name.startsWith("tls-"))
  expect(readFileSync(join(dataDir, "server", copy, "client-admin.crt"), "utf8")).toBe(adminBefore)
  await server[Symbol.asyncDispose]()
})

test("k3ts certificate rotate-ca accepts cross-signed authorities, and clients that trust the old ones still work", async () => {
  // given a cluster, a service account's token and what its clients trust
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-certificate-"))
  const tls = (name: string) => readFileSync(join(dataDir, "server/tls", name), "utf8")
  let server = await startServer({ dataDir, keep: true })
  const issued = await k3ts([
    "token",
    "serviceaccount",
    "default",
    "--config=/dev/null",
    `--data-dir=${dataDir}`,
    "--bind-address=127.0.0.1",
    `--https-listen-port=${server.port}`,
  ])
  const token = issued.stdout.trim()
  const oldCa = tls("server-ca.crt")
  await server[Symbol.asyncDispose]()

  // and new authorities that nobody trusts
  const path = join(dataDir, "new")
  mkdirSync(join(path, "tls"), { recursive: true })
  const put = (name: string, text: string) => writeFileSync(join(path, "tls", name), text)
  const keyPem = newPrivateKey()
  const root = createCa({ commonName: "new", validity: TEN_YEARS, keyPem })
  put("server-ca.key", keyPem)
  put("server-ca.crt", root.certPem)
  put("service.key", newPrivateKey())
  expect((await command(dataDir, "rotate-ca", "--path", path)).stderr).toMatch(
    /failed to validate new CA certificates and keys:\n +server-ca: new CA bundle contains only[^\n]+\n +service.key: old ServiceAccount signing key not in/,
  )
  expect(tls("server-ca.crt")).toBe(oldCa)

  // when they come with a certificate of the old authority, and the old key behind the new one
  const old = { certPem: oldCa, keyPem: tls("server-ca.key") }
  const cross = createCa({ commonName: "new", validity: TEN_YEARS, keyPem, issuer: old })
  put("server-ca.crt", cross.certPem + root.certPem)
  put("service.key", newPrivateKey() + tls("service.key"))
  const taken = await command(dataDir, "rotate-ca", "--path", path)
  expect(taken).toMatchObject({ code: 0, stdout: expect.stringContaining("Took server-ca.crt, service.key") as string })

  // then clients of the old authority and of the new one both trust the server, and the old token is good
  server = await startServer({ dataDir })
  for (const ca of [oldCa, root.certPem])
    expect(await whoAmI(server, ca, token)).toBe("system:serviceaccount:default:default")
  await server.eventually("/api/v1/namespaces/default/configmaps/kube-root-ca.crt", (body) =>
    body.includes(root.certPem.trim().replaceAll("\n", String.raw`\n`)),
  )
  expect(readFileSync(server.kubeconfig, "utf8")).toContain(Buffer.from(tls("server-ca.crt")).toString("base64"))
  const keys = JSON.parse((await server.get("/openid/v1/jwks")).body) as { keys: readonly object[] }
  expect(keys.keys).toHaveLength(2)
  await server[Symbol.asyncDispose]()
  rmSync(dataDir, { recursive: true, force: true })
})

test("k3ts certificate check names a file that is no certificate", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-certificate-"))
  mkdirSync(join(dataDir, "server/tls"), { recursive: true })
  const file = join(dataDir, "server/tls/broken.crt")
  writeFileSync(file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
  expect(await command(dataDir, "check")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`k3ts: ${file} cannot be read as certificates: `) as string,
  })
  rmSync(dataDir, { recursive: true })
})
