/**
 * Admission and conversion webhooks for containers, with the paths, verdicts and words of agnhost's `webhook`. Serves
 * HTTPS at port 8443 with the certificate in /tls. Also answers as the server of an API group without kinds.
 */
import { readFileSync } from "node:fs"
import { createServer } from "node:https"

interface Loose {
  readonly [field: string]: unknown
  readonly metadata?: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> }
  readonly data?: Readonly<Record<string, string>>
}
interface Request {
  readonly uid: string
  readonly operation: string
  readonly name?: string
  readonly object: Loose | null
  readonly oldObject: Loose | null
}
interface Verdict {
  readonly allowed: boolean
  readonly message?: string
  readonly patch?: readonly object[]
}
const allow: Verdict = { allowed: true }
const deny = (message: string): Verdict => ({ allowed: false, message })
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const disallowed = (data: Loose["data"]) => data?.["webhook-e2e-test"] === "webhook-disallow"

/** Adds the next stage to data: the first stage follows the start, the second follows the first. */
function mutated(data: Loose["data"] = {}): Verdict {
  const [before, after] = data["mutation-stage-1"] === undefined ? ["start", "stage-1"] : ["stage-1", "stage-2"]
  if (data[`mutation-${before}`] !== "yes" || data[`mutation-${after}`] !== undefined) return allow
  return { allowed: true, patch: [{ op: "add", path: `/data/mutation-${after}`, value: "yes" }] }
}

const VERDICTS: Readonly<Record<string, (request: Request) => Verdict | Promise<Verdict>>> = {
  "/pods": async ({ object }) => {
    const label = object?.metadata?.labels?.["webhook-e2e-test"]
    if (label === "wait-forever") await pause(600_000)
    const { containers = [] } = (object?.["spec"] ?? {}) as { containers?: { name: string }[] }
    const faults = [
      ...(containers.some(({ name }) => name.includes("webhook-disallow"))
        ? ["the pod contains unwanted container name"]
        : []),
      ...(label === "webhook-disallow" ? ["the pod contains unwanted label"] : []),
    ]
    return faults.length > 0 ? deny(faults.join("; ")) : allow
  },
  "/pods/attach": ({ name }) => deny(`attaching to pod '${name}' is not allowed`),
  "/mutating-pods": ({ object }) =>
    object?.metadata?.name === "webhook-to-be-mutated"
      ? {
          allowed: true,
          patch: [
            {
              op: "add",
              path: "/spec/initContainers",
              value: [{ image: "webhook-added-image", name: "webhook-added-init-container", resources: {} }],
            },
          ],
        }
      : allow,
  "/configmaps": ({ object }) =>
    disallowed(object?.data) ? deny("the configmap contains unwanted key and value") : allow,
  "/mutating-configmaps": ({ object }) => mutated(object?.data),
  "/custom-resource": ({ object, oldObject, operation }) => {
    if (operation === "DELETE")
      return oldObject?.data?.["webhook-e2e-test"] === "webhook-nondeletable"
        ? deny("the custom resource cannot be deleted because it contains unwanted key and value")
        : allow
    return disallowed(object?.data) ? deny("the custom resource contains unwanted data") : allow
  },
  "/mutating-custom-resource": ({ object }) => mutated(object?.data),
  "/crd": ({ object }) =>
    object?.metadata?.labels?.["webhook-e2e-test"] === "webhook-disallow"
      ? deny("the crd contains unwanted label")
      : allow,
  "/add-label": ({ object }) => ({
    allowed: true,
    patch:
      object?.metadata?.labels === undefined
        ? [{ op: "add", path: "/metadata/labels", value: { "added-label": "yes" } }]
        : [{ op: "add", path: "/metadata/labels/added-label", value: "yes" }],
  }),
  "/always-deny": () => deny("this webhook denies all requests"),
  "/always-allow-delay-5s": async () => (await pause(5000), allow),
}

/** Between `hostPort` of v1 and `host` and `port` of v2. */
function converted(object: Loose, apiVersion: string): Loose {
  const { hostPort, host, port, ...rest } = object
  if (object["apiVersion"] === apiVersion) return object
  if (apiVersion.endsWith("/v1")) return { ...rest, apiVersion, hostPort: `${String(host)}:${String(port)}` }
  const [first, second] = String(hostPort).split(":")
  return { ...rest, apiVersion, host: first, port: second }
}

async function reviewed(path: string, text: string): Promise<object> {
  const review = JSON.parse(text) as { kind: string; apiVersion: string; request: Request }
  const { kind, apiVersion, request } = review
  if (path === "/crdconvert") {
    const { uid, desiredAPIVersion, objects } = request as unknown as {
      uid: string
      desiredAPIVersion: string
      objects: Loose[]
    }
    const convertedObjects = objects.map((object) => converted(object, desiredAPIVersion))
    return { kind, apiVersion, response: { uid, result: { status: "Success" }, convertedObjects } }
  }
  const { allowed, message, patch } = (await VERDICTS[path]?.(request)) ?? deny(`nothing is at ${path}`)
  const patched =
    patch === undefined ? {} : { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") }
  const status = message === undefined ? {} : { status: { message } }
  return { kind, apiVersion, response: { uid: request.uid, allowed, ...status, ...patched } }
}

createServer({ cert: readFileSync("/tls/tls.crt"), key: readFileSync("/tls/tls.key") }, (req, res) => {
  let text = ""
  req.on("data", (part: Buffer) => (text += part.toString()))
  req.on("end", () => {
    if (req.url === "/readyz") return void res.end("ok")
    console.log(`${req.method} ${req.url}`)
    if (req.method === "GET") {
      const groupVersion = (req.url ?? "").replace(/^\/apis\//, "")
      res.setHeader("content-type", "application/json")
      return void res.end(JSON.stringify({ kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: [] }))
    }
    void reviewed((req.url ?? "").replace(/\?.*/, ""), text).then((answer) => {
      res.setHeader("content-type", "application/json")
      res.end(JSON.stringify(answer))
    })
  })
}).listen(8443)
process.on("SIGTERM", () => process.exit(0))
