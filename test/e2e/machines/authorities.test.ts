/** New authorities for a cluster whose pods run: `k3ts certificate rotate-ca`. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { request } from "node:https"
import { join } from "node:path"
import { createCa, newPrivateKey, type CertificatePair } from "../../../pkg/pki/certificate.ts"
import { AUTHORITIES, type AuthorityName } from "../../../pkg/pki/cluster-pki.ts"
import { readPair } from "../../../pkg/pki/pair-files.ts"
import { splitPem } from "../../../pkg/pki/verify.ts"
import { agentToken, startAgent, type TestAgent } from "../../harness/agent.ts"
import { BUSYBOX, describeOnMachines, startCluster, stay, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { startMachines, type Machine, type Machines } from "../../harness/machine.ts"
import { EXECUTABLE, startServer, type TestServer } from "../../harness/server.ts"

const YEAR_MS = 365 * 24 * 3_600_000
const PODS = ["on-server", "on-agent"] as const
/** How often kubelets look whether the files of pods are still right. */
const FLAGS = ["--kubelet-arg=sync-frequency=1s"]
const VOLUME = "/var/run/secrets/kubernetes.io/serviceaccount"

describeOnMachines("a cluster that gets new authorities while its pods run", () => {
  let machines: Machines
  let [a, b] = [] as Machine[] as [Machine, Machine]
  let cluster: Cluster
  let server: TestServer
  let agent: TestAgent
  const url = () => `https://${a.address}:6443`
  const tls = (name: string) => readFileSync(join(a.dataDir, "server/tls", name), "utf8")

  beforeAll(async () => {
    machines = await startMachines()
    a = await machines.add("server")
    b = await machines.add("agent")
    cluster = await startCluster({ machine: a, flags: FLAGS })
    server = cluster.server
    agent = startAgent({ machine: b, server: url(), token: agentToken(server), flags: FLAGS })
    for (const name of PODS)
      await cluster.runPod(name, {
        nodeName: name.slice("on-".length),
        containers: [{ name: "c", image: BUSYBOX, command: stay() }],
      })
  }, 90_000)
  afterAll(async () => {
    await agent?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
    await machines?.[Symbol.asyncDispose]()
  }, 30_000)

  /** What a program in a pod reads to reach the API server. */
  const volumeOf = async (pod: string) => {
    const [ca = "", token = ""] = (await cluster.kubectl.sh(pod, `cat ${VOLUME}/ca.crt; echo =; cat ${VOLUME}/token`))
      .split("\n=\n")
      .map((text) => text.trim())
    return { ca, token }
  }
  type PodFiles = Awaited<ReturnType<typeof volumeOf>>
  /** Returns the status of a request with a token; throws when the server's certificate is not trusted. */
  const statusOf = ({ ca, token }: PodFiles): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` }
      const sent = request(`${url()}/version`, { ca, headers, agent: false }, (answer) => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      })
      sent.on("error", reject)
      sent.end()
    })
  /** Equal for as long as the processes of the pods are. */
  const identities = () =>
    cluster.kubectl.ok([
      "get",
      "pods",
      "-o",
      'jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[0].containerID} {.status.containerStatuses[0].restartCount}{"\\n"}{end}',
    ])

  /** Makes the files that `rotate-ca` takes. */
  const stage = (keys: string, bundle: (name: AuthorityName, old: CertificatePair) => CertificatePair): string => {
    const folder = mkdtempSync(join(a.folder, "new-"))
    mkdirSync(join(folder, "tls"))
    const put = (name: string, text: string) => writeFileSync(join(folder, "tls", name), text)
    for (const name of AUTHORITIES) {
      const { certPem, keyPem } = bundle(name, readPair(join(a.dataDir, "server/tls"), name) as CertificatePair)
      put(`${name}.crt`, certPem)
      put(`${name}.key`, keyPem)
    }
    put("service.key", keys)
    return folder
  }
  /** The certificates and the key of a new root, and a copy of its certificate that the old authority has signed. */
  const newRoot = (name: AuthorityName, old: CertificatePair) => {
    const validity = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + YEAR_MS) }
    const keyPem = newPrivateKey()
    const commonName = `new-${name}-${Date.now()}`
    const root = createCa({ commonName, validity, keyPem }).certPem
    return { root, keyPem, cross: createCa({ commonName, validity, keyPem, issuer: old }).certPem }
  }
  const rotate = async (folder: string, ...flags: readonly string[]) => {
    await server.kill("SIGTERM")
    const words = ["certificate", "rotate-ca", "--config=/dev/null", `--data-dir=${a.dataDir}`, `--path=${folder}`]
    const { code, err } = await run(EXECUTABLE, [...words, ...flags])
    expect([code, err]).toEqual([0, ""])
    server = await startServer({ agent: true, machine: a, flags: FLAGS })
  }
  const podsTrust = async (ca: string) => {
    for (const name of PODS) while (!(await volumeOf(name)).ca.includes(ca.trim())) await Bun.sleep(200)
  }
  const newestSigns = async (machine: Machine, file: string, authority: AuthorityName) => {
    writeFileSync(join(machine.folder, "newest.pem"), splitPem(tls(`${authority}.crt`))[0]!)
    const verified = `openssl verify -partial_chain -CAfile ${machine.folder}/newest.pem ${machine.dataDir}/${file}`
    while ((await machine.run("sh", "-c", verified)).code !== 0) await Bun.sleep(100)
  }
  /** Both nodes run commands in their pods, which the API server asks of their kubelets. */
  const nodesWork = async () => {
    for (const name of PODS) {
      let out = ""
      while (out !== "works\n") {
        out = (await cluster.kubectl.run(["exec", name, "--", "echo", "works"])).out
        if (out !== "works\n") await Bun.sleep(100)
      }
    }
  }

  describe("that are cross-signed by the old ones", () => {
    test("keeps pods, old clients and agents; new clients trust the new authorities alone", async () => {
      // given
      const pods = await identities()
      const before = await Promise.all(PODS.map(volumeOf))
      const oldKubeconfig = join(a.folder, "old.yaml")
      writeFileSync(oldKubeconfig, readFileSync(server.kubeconfig, "utf8"))
      const oldToken = agentToken(server)
      const roots: string[] = []
      const folder = stage(newPrivateKey() + tls("service.key"), (name, old) => {
        const { root, cross, keyPem } = newRoot(name, old)
        if (name === "server-ca") roots.push(root)
        return { keyPem, certPem: cross + root + old.certPem }
      })
      const [root = ""] = roots
      // when
      await rotate(folder)
      // then a program that has read its files before, and one that knows the new root only, reach the server
      for (const { ca, token } of before)
        for (const trusted of [ca, root]) expect(await statusOf({ ca: trusted, token })).toBe(200)
      // and the files of pods follow on both nodes
      await podsTrust(root)
      for (const files of await Promise.all(PODS.map(volumeOf))) expect(await statusOf(files)).toBe(200)
      // and kubectl works with the administrator's earlier kubeconfig as with the new one
      const { KUBECONFIG: _, ...env } = cluster.kubectl.env
      const whoAmI = (kubeconfig: string) =>
        run("kubectl", ["--kubeconfig", kubeconfig, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], {
          env,
        })
      expect(readFileSync(server.kubeconfig, "utf8")).not.toBe(readFileSync(oldKubeconfig, "utf8"))
      for (const file of [oldKubeconfig, server.kubeconfig])
        expect(await whoAmI(file)).toMatchObject({ code: 0, out: "system:admin" })
      // and the agent, which was not restarted, gets certificates of the new authorities
      await newestSigns(b, "agent/client-kubelet.crt", "client-ca")
      await newestSigns(b, "agent/serving-kubelet.crt", "server-ca")
      await nodesWork()
      expect(await identities()).toEqual(pods)
      // and a machine joins with the old token
      const c = await machines.add("agent-2")
      await using second = startAgent({ machine: c, server: url(), token: oldToken })
      while (!second.output().includes("The machine is a member")) await Bun.sleep(20)
    }, 60_000)

    test("drops the old ones later, and an agent that starts again without a token stays", async () => {
      const pods = await identities()
      // given the bundles without the old root, and without the certificate that it has signed
      const folder = stage(tls("service.key").split(/(?<=-----END PRIVATE KEY-----\n)/)[0]!, (_name, old) => ({
        ...old,
        certPem: `${splitPem(old.certPem)[1]!}\n`,
      }))
      // when
      await rotate(folder, "--force")
      // then
      await nodesWork()
      await agent.kill("SIGTERM")
      agent = startAgent({ machine: b, server: url(), flags: FLAGS })
      while (!agent.output().includes("The node runs")) await Bun.sleep(20)
      expect(agent.output()).not.toContain("No server answers")
      await nodesWork()
      expect(await identities()).toEqual(pods)
    }, 60_000)
  })

  describe("that nobody trusts", () => {
    test("keeps its pods, and its agent goes on when it has the new token", async () => {
      const pods = await identities()
      const oldToken = agentToken(server)
      const processes = () => b.sh("pgrep -f '[s]leep 3600' | sort")
      const running = await processes()
      // when
      await rotate(
        stage(newPrivateKey(), (name, old) => {
          const { root, keyPem } = newRoot(name, old)
          return { certPem: root, keyPem }
        }),
        "--force",
      )
      // then an agent with the old token says what to do, and keeps its pods
      await agent.kill("SIGTERM")
      agent = startAgent({ machine: b, server: url(), token: oldToken, flags: FLAGS })
      while (!agent.output().includes("take the token anew from server/agent-token")) await Bun.sleep(20)
      expect(await processes()).toBe(running)
      // when it has the new token
      await agent.kill("SIGTERM")
      agent = startAgent({ machine: b, server: url(), token: agentToken(server), flags: FLAGS })
      // then pods are the same, and have new tokens and the new authority
      await nodesWork()
      await podsTrust(tls("server-ca.crt"))
      for (const name of PODS) {
        const wanted = async () => await statusOf(await volumeOf(name)).catch(() => 0)
        while ((await wanted()) !== 200) await Bun.sleep(200)
      }
      expect(await identities()).toEqual(pods)
    }, 60_000)
  })
})
