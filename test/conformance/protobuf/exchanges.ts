import { Buffer } from "node:buffer"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { DeleteOptions } from "../../../pkg/apimachinery/meta.ts"
import { encodeProtobuf } from "../../../pkg/apimachinery/protobuf/envelope.ts"
import type { Base, Json } from "../validation/base.ts"
import { NAMESPACE, objectOf, resourceOf } from "../validation/cases.ts"
import { judged, readAnswer, readFrame } from "./answers.ts"
import type { Got, Sent, Server } from "./server.ts"
import { leavesOf, type Leaves } from "../validation/verdict.ts"

export const PROTOBUF = "application/vnd.kubernetes.protobuf"
const METADATA = `${PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`
const METADATA_LIST = `${PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`
const PATCHES = {
  "a merge patch": ["application/merge-patch+json", { metadata: { annotations: { merged: "yes" } } }],
  "a strategic merge patch": [
    "application/strategic-merge-patch+json",
    { metadata: { finalizers: ["example.com/f"], $setElementOrder: undefined } },
  ],
  "a JSON patch": ["application/json-patch+json", [{ op: "add", path: "/metadata/labels", value: { a: "b" } }]],
  "a JSON patch whose test fails": [
    "application/json-patch+json",
    [{ op: "test", path: "/metadata/name", value: "other" }],
  ],
  "a patch that changes the name": ["application/merge-patch+json", { metadata: { name: "other" } }],
} as const

/** A server's results for the exchanges with one base: all values of the created object, and how later answers differ. */
export interface Outcome {
  readonly created: readonly string[]
  readonly verdicts: Readonly<Record<string, string>>
  /** The object in protobuf, as the server has written it. */
  readonly bytes: Uint8Array
}

/**
 * Creates, reads, lists, patches, updates, watches and deletes the object of a base in protobuf. `golden` is the object
 * as another server has encoded it; this server must be able to decode it.
 */
export async function exchangesOf(server: Server, base: Base, n: number, golden?: Uint8Array): Promise<Outcome> {
  const resource = resourceOf(base)
  const { status, ...body } = objectOf(base, 1000 + n)
  const name = (body["metadata"] as { readonly name: string }).name
  const root = `${resource.group === "" ? "/api" : "/apis"}/${resource.apiVersion}`
  const all = `${root}${resource.scope === "Namespaced" ? `/namespaces/${NAMESPACE}` : ""}/${resource.plural}`
  const one = `${all}/${encodeURIComponent(name)}`
  const selected = `${all}?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`
  const verdicts: Record<string, string> = {}
  const remove = () =>
    server.send({ method: "PATCH", path: one, type: "application/merge-patch+json", body: NO_FINALIZERS })
  await server.send({ method: "DELETE", path: `${one}?gracePeriodSeconds=0` })
  await remove()
  const json = await server.send({ method: "POST", path: `${all}?dryRun=All`, body: JSON.stringify(body) })
  if (json.code !== 201) throw new Error(`${base.kind} ${base.name}: ${Buffer.from(json.bytes).toString()}`)
  const created: Leaves = leavesOf(readAnswer(json).object, base)
  const put = async (title: string, request: Sent): Promise<Got> => {
    const got = await server.send(request)
    verdicts[title] = judged(readAnswer(got), created, base)
    return got
  }
  const dry = await put("created from JSON", {
    method: "POST",
    path: `${all}?dryRun=All`,
    body: JSON.stringify(body),
    accept: PROTOBUF,
  })
  const own = encodeProtobuf(resource.schema, decodeObject(resource, body).object, resource)
  // A dry run returns values that a client must not send: addresses and ports of Services, uids in selectors of Jobs.
  const bytes = ["Service", "Job"].includes(resource.kind) ? own : (golden ?? dry.bytes)
  await put("created from protobuf, shown in JSON", {
    method: "POST",
    path: `${all}?dryRun=All`,
    type: PROTOBUF,
    body: bytes,
  })
  await put("created from protobuf in our own words", {
    method: "POST",
    path: `${all}?dryRun=All`,
    type: PROTOBUF,
    accept: PROTOBUF,
    body: own,
  })
  const before = await versionOf(server, all)
  const made = await put("created", { method: "POST", path: all, type: PROTOBUF, accept: PROTOBUF, body: bytes })
  await put("created again", { method: "POST", path: all, type: PROTOBUF, accept: PROTOBUF, body: bytes })
  await put("read", { method: "GET", path: one, accept: PROTOBUF })
  await put("listed", { method: "GET", path: selected, accept: PROTOBUF })
  await put("its metadata", { method: "GET", path: one, accept: METADATA })
  await put("metadata of a list", { method: "GET", path: selected, accept: METADATA_LIST })
  await put("a table", { method: "GET", path: one, accept: `${PROTOBUF};as=Table;g=meta.k8s.io;v=v1` })
  for (const [title, [type, patch]] of Object.entries(PATCHES))
    await put(title, {
      method: "PATCH",
      path: `${one}?dryRun=All`,
      type,
      accept: PROTOBUF,
      body: JSON.stringify(patch),
    })
  const applied = { apiVersion: resource.apiVersion, kind: resource.kind, metadata: { name, labels: { x: "y" } } }
  await put("an applied configuration", {
    method: "PATCH",
    path: `${one}?dryRun=All&fieldManager=applier`,
    type: "application/apply-patch+yaml",
    accept: PROTOBUF,
    body: JSON.stringify(applied),
  })
  if (status !== undefined)
    await put("a patch of the status", {
      method: "PATCH",
      path: `${one}/status?dryRun=All`,
      type: "application/merge-patch+json",
      accept: PROTOBUF,
      body: JSON.stringify({ status }),
    })
  if (resource.subresources?.["scale"] !== undefined) {
    const scale = await put("its scale", { method: "GET", path: `${one}/scale`, accept: PROTOBUF })
    await put("its scale written", {
      method: "PUT",
      path: `${one}/scale?dryRun=All`,
      type: PROTOBUF,
      accept: PROTOBUF,
      body: scale.bytes,
    })
  }
  const patched = await server.send({
    method: "PATCH",
    path: `${one}?dryRun=All`,
    type: "application/merge-patch+json",
    accept: PROTOBUF,
    body: JSON.stringify({ metadata: { annotations: { updated: "yes" } } }),
  })
  await put("updated", { method: "PUT", path: one, type: PROTOBUF, accept: PROTOBUF, body: patched.bytes })
  if (base.unversioned !== true)
    await put("updated from an old version", {
      method: "PUT",
      path: one,
      type: PROTOBUF,
      accept: PROTOBUF,
      body: made.bytes,
    })
  const options = (value: Json): Uint8Array =>
    encodeProtobuf(DeleteOptions, value, { apiVersion: "v1", kind: "DeleteOptions" })
  const deletes = { method: "DELETE", path: one, type: PROTOBUF, accept: PROTOBUF }
  await put("deleted with another UID", { ...deletes, body: options({ preconditions: { uid: "other" } }) })
  await put("deleted without a word", {
    ...deletes,
    path: `${one}?dryRun=All`,
    body: options({ propagationPolicy: "Never" }),
  })
  await put("deleted", { ...deletes, body: options({ gracePeriodSeconds: 0, propagationPolicy: "Background" }) })
  await remove()
  if (resource.kind === "Namespace")
    await server.send({ method: "PUT", path: `${one}/finalize`, body: JSON.stringify({ ...body, spec: {} }) })
  await put("read when it is gone", { method: "GET", path: one, accept: PROTOBUF })
  // The server itself writes to some kinds a random number of times.
  if (base.unversioned === true) return { created: shownLeaves(created), verdicts, bytes: dry.bytes }
  for (const [title, accept] of [
    ["watched", PROTOBUF],
    ["watched for its metadata", METADATA],
  ] as const) {
    const frames = await server.frames(
      `${selected}&watch=1&timeoutSeconds=3&resourceVersion=${before}`,
      accept,
      (some) => readFrame(some.at(-1)!).type === "DELETED",
    )
    verdicts[title] = frames
      .map((frame) => `${readFrame(frame).type} ${judged(readFrame(frame), created, base)}`)
      .join("\n")
  }
  return { created: shownLeaves(created), verdicts, bytes: dry.bytes }
}

const shownLeaves = (leaves: Leaves): readonly string[] => [...leaves].map(([path, value]) => `${path}=${value}`)

const NO_FINALIZERS = JSON.stringify({ metadata: { finalizers: null } })

/** Returns the current resource version of a collection. */
async function versionOf(server: Server, all: string): Promise<string> {
  const { bytes } = await server.send({ method: "GET", path: `${all}?limit=1` })
  return (JSON.parse(Buffer.from(bytes).toString()) as { metadata: { resourceVersion: string } }).metadata
    .resourceVersion
}
