import { Buffer } from "node:buffer"
import { resolve } from "node:path"
import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringFlag, type FlagValues } from "../../command/flag.ts"
import type { Cluster } from "../../config/kubeconfig.ts"
import { modifyConfig, startingConfig } from "../../config/write-kubeconfig.ts"
import { helpError } from "./contexts.ts"

const flags = {
  "certificate-authority": stringFlag("", "The file with the certificate of the cluster's authority"),
  "embed-certs": boolFlag(false, "Put the certificate itself into the kubeconfig"),
  "insecure-skip-tls-verify": boolFlag(false, "Whether the server's certificate is not checked"),
  "proxy-url": stringFlag("", "The address of the proxy to the cluster"),
  server: stringFlag("", "The address of the cluster's server"),
  "tls-server-name": stringFlag("", "The name that the server's certificate is checked for"),
}

export const setClusterCommand = command({
  use: "set-cluster NAME [--server=server] [--certificate-authority=path/to/certificate/authority] [--insecure-skip-tls-verify=true] [--tls-server-name=example.com]",
  noFlagsInUse: true,
  short: "Set a cluster in the kubeconfig",
  long: `
Set a cluster in the kubeconfig.

 If there is one of this name, it keeps what the flags do not set.`,
  example: `
# Set nothing but the server of the cluster e2e
kubectl config set-cluster e2e --server=https://1.2.3.4

# Put the certificate of the authority into the cluster e2e
kubectl config set-cluster e2e --embed-certs --certificate-authority=~/.kube/e2e/kubernetes.ca.crt

# Do not check certificates of the cluster e2e
kubectl config set-cluster e2e --insecure-skip-tls-verify=true

# Check the certificate of the cluster e2e for this name
kubectl config set-cluster e2e --tls-server-name=my-cluster-name

# Reach the cluster e2e through a proxy
kubectl config set-cluster e2e --proxy-url=https://1.2.3.4`,
  flags,
  async run(invocation) {
    const { args, factory, environment, out } = invocation
    if (args.length !== 1) throw await helpError(invocation, `Unexpected args: [${args.join(" ")}]`)
    const [name = ""] = args
    if (name === "") throw new Error("you must specify a non-empty cluster name")
    await check(invocation)
    const { rules } = factory.config
    const config = await startingConfig(rules)
    config.clusters.set(name, await changedCluster(config.clusters.get(name) ?? {}, invocation))
    await modifyConfig(environment, rules, config)
    await out.write(`Cluster ${goQuoted(name)} set.\n`)
  },
})

async function check({
  flags: { "certificate-authority": path, ...given },
  environment,
}: Invocation<typeof flags>): Promise<void> {
  if (given["insecure-skip-tls-verify"] && path !== "")
    throw new Error("you cannot specify a certificate authority and insecure mode at the same time")
  if (!given["embed-certs"]) return
  if (path === "") throw new Error("you must specify a --certificate-authority to embed")
  if ((await environment.files.stat(path)) === undefined)
    throw new Error(`could not stat certificate-authority file ${path}: stat ${path}: no such file or directory`)
}

async function changedCluster(
  existing: Cluster,
  { flags: given, changed, environment }: Invocation<typeof flags>,
): Promise<Cluster> {
  const cluster = { ...existing }
  if (changed("server")) {
    cluster.server = given.server
    delete cluster["tls-server-name"]
  }
  if (changed("tls-server-name")) cluster["tls-server-name"] = given["tls-server-name"]
  if (changed("insecure-skip-tls-verify")) {
    cluster["insecure-skip-tls-verify"] = given["insecure-skip-tls-verify"]
    if (given["insecure-skip-tls-verify"]) {
      delete cluster["certificate-authority"]
      delete cluster["certificate-authority-data"]
    }
  }
  if (changed("certificate-authority")) await setAuthority(cluster, given, environment)
  if (changed("proxy-url")) cluster["proxy-url"] = given["proxy-url"]
  return cluster
}

async function setAuthority(
  cluster: Cluster,
  given: FlagValues<typeof flags>,
  { files, cwd }: Invocation["environment"],
): Promise<void> {
  const path = given["certificate-authority"]
  delete cluster["insecure-skip-tls-verify"]
  if (given["embed-certs"]) {
    cluster["certificate-authority-data"] = Buffer.from(await files.read(path)).toString("base64")
    delete cluster["certificate-authority"]
  } else {
    cluster["certificate-authority"] = resolve(cwd, path)
    delete cluster["certificate-authority-data"]
  }
}
