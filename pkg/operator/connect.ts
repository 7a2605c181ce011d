import { joinHostPort } from "../apimachinery/addresses/cidr.ts"
import { existsSync, readFileSync } from "node:fs"
import { homedir } from "node:os"
import { delimiter, join } from "node:path"
import { createHttpsTransport } from "../client/https.ts"
import { createInformers } from "../client/informers.ts"
import { loadKubeconfig, parseKubeconfig, type ClientConfig } from "../client/kubeconfig.ts"
import { newClient } from "../client/new-client.ts"
import { systemRandom } from "../clock/random.ts"
import { realClock } from "../clock/real.ts"
import type { ComponentContext } from "../component/component.ts"
import { silent, type Logger } from "../log/log.ts"
import { errorMessage } from "../errors/error-message.ts"

export interface ConnectOptions {
  /**
   * The path of a kubeconfig, its text, or how to reach the server. Default: the file that KUBECONFIG names, else
   * `~/.kube/config`, else the service account of the pod in which the program runs.
   */
  readonly kubeconfig?: string | ClientConfig
  /** The context of the kubeconfig; by default its current one. */
  readonly context?: string
  /** Names the program in audit logs and, up to the first `/`, in managedFields. */
  readonly userAgent?: string
  /** By default nothing is logged. */
  readonly log?: Logger
}

/** A connection to a cluster, with all that controllers need: the same as in a test cluster. */
export interface Connection extends ComponentContext, Disposable {
  /** Namespace of the kubeconfig's context, or of the pod. */
  readonly namespace: string
  /** Rejects with the first failure of background work. */
  readonly failed: Promise<never>
  /** Stops the informers and closes all connections. */
  close(): void
}

/** The folder with the service account's files in every pod. Source: client-go rest.InClusterConfig. */
const ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"

/**
 * Returns a client and informers of a cluster that runs elsewhere. Sends nothing yet.
 * @throws Error when there is no kubeconfig, or that names what the kubeconfig lacks
 */
export function connect({
  kubeconfig,
  context,
  userAgent = "k3ts-operator/1",
  log = silent,
}: ConnectOptions = {}): Connection {
  const config = configFrom(kubeconfig, context)
  const transport = createHttpsTransport({ config, userAgent })
  const client = newClient(transport)
  const shared = { client, clock: realClock, random: systemRandom, log }
  const informers = createInformers(shared)
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => undefined) // the program that runs the controllers handles it
  const close = () => {
    informers.stop()
    transport.close()
  }
  return {
    ...shared,
    informers,
    namespace: config.namespace ?? "default",
    failed,
    spawn(name, run) {
      run().catch((err: unknown) => {
        log.error("Background work failed", { work: name, err })
        reject(new Error(`${name} failed: ${errorMessage(err)}`, { cause: err }))
      })
    },
    close,
    [Symbol.dispose]: close,
  }
}

function configFrom(kubeconfig: ConnectOptions["kubeconfig"], context: string | undefined): ClientConfig {
  if (typeof kubeconfig === "object") return kubeconfig
  if (kubeconfig?.includes("\n") === true) return parseKubeconfig(kubeconfig, context === undefined ? {} : { context })
  const named = kubeconfig ?? process.env["KUBECONFIG"]?.split(delimiter).find((path) => path !== "")
  if (named !== undefined) return loadKubeconfig(named, context)
  const own = join(homedir(), ".kube/config")
  if (existsSync(own)) return loadKubeconfig(own, context)
  const account = inClusterConfig(process.env, ACCOUNT_FOLDER)
  if (account !== undefined) return account
  throw new Error(
    `Cannot connect to a cluster: KUBECONFIG is not set, ${own} does not exist, and this program does not run ` +
      "in a pod; set KUBECONFIG",
  )
}

/** Returns how a pod reaches the API server as its service account; undefined outside of pods. */
export function inClusterConfig(
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): ClientConfig | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (host === undefined || port === undefined || !existsSync(join(folder, "token"))) return undefined
  const namespace = join(folder, "namespace")
  return {
    server: `https://${joinHostPort(host, port)}`,
    ca: readFileSync(join(folder, "ca.crt"), "utf8"),
    tokenFile: join(folder, "token"),
    ...(existsSync(namespace) ? { namespace: readFileSync(namespace, "utf8").trim() } : {}),
  }
}
