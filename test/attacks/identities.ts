/**
 * Who attacks: real credentials for everybody that could try something on a running server, from somebody without any
 * to the administrator. `docs/security.md` uses the same names.
 */
import { Agent } from "node:https"
import { join } from "node:path"
import { openClusterPki } from "../../pkg/pki/cluster-pki.ts"
import { type Answer, send, type TestServer } from "../harness/server.ts"

export type IdentityName = "anonymous" | "outsider" | "namespaceAdmin" | "node" | "pod" | "administrator"

/** A sender of requests. `headers` and `tls` are its credentials, for tests that open connections themselves. */
export interface Identity {
  readonly name: IdentityName
  /** The user's name as the server knows it. */
  readonly user: string
  readonly headers: Readonly<Record<string, string>>
  readonly tls: { readonly cert?: string; readonly key?: string }
  /** Sends a request; a body that is an object goes as JSON. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>
}

interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object | string | Uint8Array
}

/** Namespace of `pod` and of the rights of `namespaceAdmin`. */
export const NAMESPACE = "attacked"
/** The Node that `node` is the kubelet of, and where the pod of `pod` runs. */
export const NODE = "node-a"
/** The pod whose token `pod` has, and its ServiceAccount. */
export const POD = "inside"

export type Identities = Readonly<Record<IdentityName, Identity>> & Disposable

/**
 * Makes the identities on a server that runs, and what they need there: the namespace, the admin's RoleBinding, the
 * Node, and a pod with its ServiceAccount. Disposing them closes their connections.
 * @throws Error when the server refuses one of those objects
 */
export async function makeIdentities(server: TestServer): Promise<Identities> {
  const pki = openClusterPki({ dir: join(server.dataDir, "server/tls"), now: () => Date.now() })
  const agents: Agent[] = []

  const identity = (
    name: IdentityName,
    user: string,
    { headers = {}, tls = {} }: Partial<Pick<Identity, "headers" | "tls">>,
  ): Identity => {
    const agent = new Agent({ keepAlive: true, maxSockets: 64, rejectUnauthorized: false, ...tls })
    agents.push(agent)
    return {
      name,
      user,
      headers,
      tls,
      request(method, path, { headers: more = {}, body } = {}) {
        const isObject = body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array)
        return send(
          agent,
          server.port,
          method,
          path,
          { ...headers, ...(isObject ? { "content-type": "application/json" } : {}), ...more },
          isObject ? JSON.stringify(body) : body,
        )
      },
    }
  }
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  const certified = (commonName: string, organizations: readonly string[] = []) => {
    const { certPem: cert, keyPem: key } = pki.issue({
      name: `client-${commonName}`,
      authority: "client-ca",
      subject: { commonName, organizations },
    })
    return { tls: { cert, key } }
  }

  const administrator = identity("administrator", "system:admin", bearer(server.token))
  const node = identity("node", `system:node:${NODE}`, certified(`system:node:${NODE}`, ["system:nodes"]))
  const create = async (who: Identity, path: string, body: object): Promise<Answer> => {
    const answer = await who.request("POST", path, { body })
    if (answer.status !== 201)
      throw new Error(`The server refuses ${path} to ${who.name} with ${answer.status}: ${answer.body.toString()}`)
    return answer
  }

  const inside = `/api/v1/namespaces/${NAMESPACE}`
  await create(administrator, "/api/v1/namespaces", { metadata: { name: NAMESPACE } })
  await create(node, "/api/v1/nodes", { metadata: { name: NODE } })
  await create(administrator, `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/rolebindings`, {
    metadata: { name: "namespace-admin" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "namespace-admin" }],
  })
  await create(administrator, `${inside}/serviceaccounts`, { metadata: { name: POD } })
  await create(administrator, `${inside}/pods`, {
    metadata: { name: POD },
    spec: { nodeName: NODE, serviceAccountName: POD, containers: [{ name: "main", image: "registry.test/main" }] },
  })
  const { body } = await create(administrator, `${inside}/serviceaccounts/${POD}/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { boundObjectRef: { apiVersion: "v1", kind: "Pod", name: POD } },
  })
  const { status } = JSON.parse(body.toString()) as { status: { token: string } }

  return {
    administrator,
    node,
    anonymous: identity("anonymous", "system:anonymous", {}),
    outsider: identity("outsider", "outsider", certified("outsider")),
    namespaceAdmin: identity("namespaceAdmin", "namespace-admin", certified("namespace-admin")),
    pod: identity("pod", `system:serviceaccount:${NAMESPACE}:${POD}`, bearer(status.token)),
    [Symbol.dispose]() {
      for (const agent of agents) agent.destroy()
    },
  }
}
