/** Kubernetes' own control plane, over an etcd of its own, with an audit log. */
import { spawn, type ChildProcess } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createCa } from "../../../pkg/pki/certificate.ts"
import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { startEtcd } from "../../harness/etcd.ts"
import { startProxy } from "./proxy.ts"

export interface ControlPlane extends AsyncDisposable {
  /** Where users reach the API server. */
  readonly url: string
  /** The token of an administrator. */
  readonly token: string
  readonly auditLog: string
  /** The content types of patches of the controllers, by the audit ID. */
  readonly contentTypes: ReadonlyMap<string, string>
}

/** Everything is audited, without bodies. */
export const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
}

const ADMIN = "day-admin"
const MANAGER = "day-controller-manager"
const SCHEDULER = "day-scheduler"
const DAY_MS = 86_400_000

/** Starts kube-apiserver, kube-controller-manager and kube-scheduler of a folder. */
export async function startControlPlane(programs: string): Promise<ControlPlane> {
  const folder = mkdtempSync(join(tmpdir(), "day-"))
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const children: ChildProcess[] = []
  const start = (program: string, flags: Readonly<Record<string, string>>): ChildProcess => {
    const log = openSync(join(folder, `${program}.log`), "w")
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
    const child = spawn(join(programs, program), args, { stdio: ["ignore", log, log] })
    children.push(child)
    return child
  }
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const accounts = file("accounts.pem", privateKey.export({ type: "pkcs1", format: "pem" }) as string)
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) }
  const authority = createCa({ commonName: "day", validity })
  const [caCert, caKey] = [file("ca.crt", authority.certPem), file("ca.key", authority.keyPem)]
  const tokens = [
    `${ADMIN},admin,1,"system:masters"`,
    `${MANAGER},system:kube-controller-manager,2`,
    `${SCHEDULER},system:kube-scheduler,3`,
  ]
  const etcd = await startEtcd()
  const port = await freePort()
  const auditLog = join(folder, "audit.log")
  const apiserver = start("kube-apiserver", {
    "etcd-servers": etcd.endpoint,
    "bind-address": "127.0.0.1",
    "secure-port": String(port),
    "cert-dir": join(folder, "certs"),
    "client-ca-file": caCert,
    "token-auth-file": file("tokens.csv", `${tokens.join("\n")}\n`),
    "authorization-mode": "Node,RBAC",
    "allow-privileged": "true",
    "service-cluster-ip-range": "10.43.0.0/16",
    "service-account-key-file": accounts,
    "service-account-signing-key-file": accounts,
    "service-account-issuer": "https://kubernetes.default.svc",
    "audit-policy-file": file("audit.json", JSON.stringify(AUDIT_POLICY)),
    "audit-log-path": auditLog,
  })
  const url = `https://127.0.0.1:${port}`
  await ready(url, apiserver, folder)
  const proxy = await startProxy(port)
  start("kube-controller-manager", {
    kubeconfig: file("manager.json", kubeconfig(proxy.url, MANAGER)),
    "bind-address": "127.0.0.1",
    "secure-port": String(await freePort()),
    "cert-dir": join(folder, "manager-certs"),
    "use-service-account-credentials": "true",
    "service-account-private-key-file": accounts,
    "root-ca-file": caCert,
    "cluster-signing-cert-file": caCert,
    "cluster-signing-key-file": caKey,
    "allocate-node-cidrs": "true",
    "cluster-cidr": "10.42.0.0/16",
    "service-cluster-ip-range": "10.43.0.0/16",
    // The last one is no part of Kubernetes: distributions have it in their tree.
    controllers: "*,token-cleaner-controller,-service-ca-certificate-publisher-controller",
  })
  start("kube-scheduler", {
    kubeconfig: file("scheduler.json", kubeconfig(proxy.url, SCHEDULER)),
    "bind-address": "127.0.0.1",
    "secure-port": String(await freePort()),
    "cert-dir": join(folder, "scheduler-certs"),
  })
  return {
    url,
    token: ADMIN,
    auditLog,
    contentTypes: proxy.contentTypes,
    async [Symbol.asyncDispose]() {
      for (const child of children.toReversed()) {
        if (child.exitCode !== null || child.signalCode !== null) continue
        const ended = once(child, "exit")
        child.kill()
        await ended
      }
      proxy[Symbol.dispose]()
      await etcd[Symbol.asyncDispose]()
      if (process.env["KEEP"]) console.log(`kept: ${folder}`)
      else rmSync(folder, { recursive: true })
    },
  }
}

async function ready(url: string, server: ChildProcess, folder: string): Promise<void> {
  const isReady = async () => {
    const answer = await fetch(`${url}/readyz`, {
      headers: { authorization: `Bearer ${ADMIN}` },
      tls: { rejectUnauthorized: false },
    })
    return answer.ok
  }
  while (!(await isReady().catch(() => false))) {
    if (server.exitCode !== null) throw new Error(`the server has ended: see ${folder}/kube-apiserver.log`)
    await Bun.sleep(200)
  }
}

const kubeconfig = (server: string, token: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "day", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "day", user: { token } }],
    contexts: [{ name: "day", context: { cluster: "day", user: "day" } }],
    "current-context": "day",
  })
