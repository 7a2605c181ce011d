/** Every combination of what registries.yaml says about a registry, with a real containerd and real registries. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Containerd } from "../../../components/containerd/containerd.ts"
import { containerdPaths } from "../../../components/containerd/paths.ts"
import { parseRegistries } from "../../../components/containerd/registries/parse-registries.ts"
import { RegistryHosts } from "../../../components/containerd/registries/registry-hosts.ts"
import { tearDown } from "../../../components/containerd/tear-down.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent } from "../../../pkg/log/log.ts"
import { createCa, issueCertificate } from "../../../pkg/pki/certificate.ts"
import { describeOnNode } from "../../harness/cluster.ts"
import { hasRegistry, push, startRegistry, type Login } from "../../harness/registry.ts"

const LOGIN: Login = { user: "jane", password: "s3cret" }

/** How a registry is reached. */
interface Kind {
  /** `distrusted`: with TLS, but nothing says by which authority. */
  readonly tls: "none" | "ca_file" | "insecure_skip_verify" | "distrusted"
  readonly asksForCertificate: boolean
  readonly asksForPassword: boolean
}
const BOTH = [false, true]
const KINDS: readonly Kind[] = BOTH.flatMap((asksForPassword) => [
  { tls: "none" as const, asksForCertificate: false, asksForPassword },
  ...BOTH.flatMap((asksForCertificate) => [
    { tls: "ca_file" as const, asksForCertificate, asksForPassword },
    { tls: "insecure_skip_verify" as const, asksForCertificate, asksForPassword },
  ]),
])
const DISTRUSTED: Kind = { tls: "distrusted", asksForCertificate: false, asksForPassword: false }
const ALL = [...KINDS, DISTRUSTED]
const nameOf = ({ tls, asksForCertificate, asksForPassword }: Kind): string =>
  `${tls === "none" ? "no TLS" : tls}${asksForCertificate ? ", client certificate" : ""}${asksForPassword ? ", password" : ""}`

describeOnNode("registries.yaml", () => {
  const folder = mkdtempSync(join(tmpdir(), "k3ts-reg-"))
  const paths = containerdPaths(join(folder, "data"), join(folder, "run"))
  const pem = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const validity = { notBefore: new Date(realClock.now() - 3_600_000), notAfter: new Date(realClock.now() + 3_600_000) }
  const ca = createCa({ commonName: "registries", validity })
  const server = issueCertificate(ca, {
    subject: { commonName: "registry", organizations: [] },
    usages: ["server"],
    ipAddresses: ["127.0.0.1"],
    validity,
  })
  const client = issueCertificate(ca, {
    subject: { commonName: "node", organizations: [] },
    usages: ["client"],
    validity,
  })
  const registries = new Map<string, AsyncDisposable & { readonly port: number }>()
  let containerd: Containerd
  let hosts: RegistryHosts

  const portOf = (kind: Kind) => registries.get(nameOf(kind))!.port
  /** Settings of all kinds at once; a registry of its own, `mirrored-<number>.example.org`, has each as its mirror. */
  function settings(): string {
    const mirrors = KINDS.flatMap((kind, i) => {
      const endpoint = [`${kind.tls === "none" ? "http" : "https"}://127.0.0.1:${portOf(kind)}`]
      return [
        [`mirrored-${i}.example.org`, { endpoint }],
        [`rewritten-${i}.example.org`, { endpoint, rewrite: { "^nick/(.*)": "team/$1" } }],
      ] as const
    })
    const configs = ALL.map((kind) => {
      const { tls, asksForCertificate, asksForPassword } = kind
      const trust = { ca_file: join(folder, "ca.crt"), insecure_skip_verify: true, none: "", distrusted: "" }
      const config = {
        ...(tls === "none" || tls === "distrusted"
          ? {}
          : {
              tls: {
                [tls]: trust[tls],
                ...(asksForCertificate
                  ? { cert_file: join(folder, "client.crt"), key_file: join(folder, "client.key") }
                  : {}),
              },
            }),
        ...(asksForPassword ? { auth: { username: LOGIN.user, password: LOGIN.password } } : {}),
      }
      return [`127.0.0.1:${portOf(kind)}`, config] as const
    })
    return JSON.stringify({ mirrors: Object.fromEntries(mirrors), configs: Object.fromEntries(configs) })
  }
  const hostsOf = (mirrorsOnly: boolean) =>
    new RegistryHosts({
      folder: paths.registries,
      registries: { ...parseRegistries(settings(), "registries.yaml"), mirrorsOnly },
      random: systemRandom,
      log: silent,
    })

  beforeAll(async () => {
    if (!hasRegistry) return
    const files = {
      cert: pem("server.crt", server.certPem),
      key: pem("server.key", server.keyPem),
      clientCa: pem("ca.crt", ca.certPem),
    }
    pem("client.crt", client.certPem)
    pem("client.key", client.keyPem)
    const data = join(folder, "images")
    const starting = ALL.map(async (kind, i) => {
      const { cert, key, clientCa } = files
      const started = await startRegistry({
        folder: join(folder, `registry-${i}`),
        data,
        login: kind.asksForPassword ? LOGIN : undefined,
        tls: kind.tls === "none" ? undefined : { cert, key, clientCa: kind.asksForCertificate ? clientCa : undefined },
      })
      registries.set(nameOf(kind), started)
    })
    await Promise.all(starting)
    await push(`127.0.0.1:${portOf(KINDS[0]!)}`, "team/app", "1")
    mkdirSync(paths.registries, { recursive: true })
    hosts = hostsOf(false)
    containerd = new Containerd({ paths, clock: realClock, log: silent, cgroupDriver: "cgroupfs", registries: hosts })
    await containerd.start(AbortSignal.timeout(30_000))
  }, 60_000)
  afterAll(async () => {
    await containerd?.stop()
    containerd?.cri.close()
    await tearDown(paths, realClock, { bridge: false, egress: false })
    for (const registry of registries.values()) await registry[Symbol.asyncDispose]()
    spawnSync("umount", ["-l", folder])
    rmSync(folder, { recursive: true, force: true })
  }, 30_000)

  /**
   * Pulls and removes an image, one at a time: all names are of one image, and who removes a name removes all names of
   * its image, also one that is being pulled. Returns what was wrong.
   */
  async function pull(image: string): Promise<string> {
    const { images } = containerd.cri
    try {
      await images.pullImage({ image })
      await images.removeImage(image)
      return ""
    } catch (err) {
      return (err as Error).message
    }
  }

  for (const [i, kind] of KINDS.entries())
    test.skipIf(!hasRegistry)(`is heeded for a registry with ${nameOf(kind)}`, async () => {
      expect({
        itself: await pull(`127.0.0.1:${portOf(kind)}/team/app:1`),
        asMirror: await pull(`mirrored-${i}.example.org/team/app:1`),
        asMirrorUnderAnotherName: await pull(`rewritten-${i}.example.org/nick/app:1`),
      }).toEqual({ itself: "", asMirror: "", asMirrorUnderAnotherName: "" })
    })

  test.skipIf(!hasRegistry)("does not trust a registry whose authority it does not name", async () => {
    expect(await pull(`127.0.0.1:${portOf(DISTRUSTED)}/team/app:1`)).toContain("failed to resolve reference")
  })

  test.skipIf(!hasRegistry)("is heeded for mirrors where the registry itself is never asked", async () => {
    await hosts.stop()
    await hostsOf(true).start()
    const faults: string[] = []
    for (const i of KINDS.keys()) faults.push(await pull(`mirrored-${i}.example.org/team/app:1`))
    expect(faults).toEqual(KINDS.map(() => ""))
  })
})
