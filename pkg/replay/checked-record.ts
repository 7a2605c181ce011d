import type { KubeObject } from "../apimachinery/resource.ts"
import { parseTime } from "../apimachinery/scalars/time.ts"
import {
  MOST_DEPTH,
  RECORDING_FORMAT,
  RecordingError,
  type RecordedObject,
  type RecordedWrite,
  type RecordingEnd,
  type RecordingHead,
} from "./format.ts"

type Fields = Readonly<Record<string, unknown>>

/** @throws RecordingError for what is no recording, or of a later version */
export function checkedHead(line: string): RecordingHead {
  let head: unknown
  try {
    head = parsed(line)
  } catch {
    throw new RecordingError("it is no recording of k3ts: make one with k3ts record")
  }
  if (!isFields(head) || typeof head["k3tsRecording"] !== "number")
    throw new RecordingError("it is no recording of k3ts: make one with k3ts record")
  if (head["k3tsRecording"] !== RECORDING_FORMAT)
    throw new RecordingError(
      `it has the format ${head["k3tsRecording"]}, and this k3ts reads format ${RECORDING_FORMAT}: use a newer k3ts`,
    )
  const { begin, from, server, namespaces, anonymised } = head
  if (!isTime(begin) || (from !== "history" && from !== "watches") || typeof server !== "string")
    throw new RecordingError("its first line is damaged; record it again")
  if (!areTexts(namespaces) || typeof anonymised !== "boolean")
    throw new RecordingError("its first line is damaged; record it again")
  return { k3tsRecording: RECORDING_FORMAT, begin, from, server, namespaces, anonymised }
}

/** @throws RecordingError for a line that is no record; `number` is that of the line */
export function checkedRecord(line: string, number: number): RecordedObject | RecordedWrite | RecordingEnd {
  const fail = (what: string) => new RecordingError(`line ${number} is no record of a recording: ${what}`)
  let record: unknown
  try {
    record = parsed(line)
  } catch (cause) {
    throw new RecordingError(`line ${number} is no record of a recording: ${(cause as Error).message}`, { cause })
  }
  if (!isFields(record)) throw fail("it is no JSON object")
  const { type } = record
  if (type === "end") {
    const { time, objects, writes, resources, left } = record
    if (!isTime(time) || !isCount(objects) || !isCount(writes) || !areTexts(left) || !areTexts(resources))
      throw fail("a field of the end")
    return { type, time, objects, writes, resources, left }
  }
  if (type !== "object" && type !== "write") throw fail(`its type is ${JSON.stringify(type)?.slice(0, 50)}`)
  const { resource, object } = record
  if (typeof resource !== "string" || !RESOURCE.test(resource)) throw fail("resource must be a plural name")
  if (!isObject(object)) throw fail("object must have apiVersion, kind and the names of an object")
  if (type === "object") return { type, resource, object }
  const { revision, time, verb, user, clients, subresource, report } = record
  if (!isCount(revision) || !isTime(time)) throw fail("revision and time must be those of a write")
  if (verb !== "create" && verb !== "update" && verb !== "delete") throw fail("verb must be create, update or delete")
  if (typeof user !== "string" || !areTexts(clients) || typeof subresource !== "string" || typeof report !== "boolean")
    throw fail("user, clients, subresource and report must say who has written")
  return { type, resource, revision, time, verb, user, clients, subresource, report, object }
}

const RESOURCE = /^[a-z][-a-z0-9]{0,62}$/
/** Source: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, for the kinds and versions of definitions. */
const KIND = /^[A-Za-z](?:[-A-Za-z0-9]{0,61}[A-Za-z0-9])?$/
const API_VERSION = /^(?:[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?\/)?[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/

/** Names become parts of keys: nothing in them may end one. Source: apimachinery api/validation/path/name.go. */
const isName = (name: unknown): name is string =>
  typeof name === "string" && /^[^/%\u0000-\u001f]{1,253}$/.test(name) && name !== "." && name !== ".."

function isObject(value: unknown): value is KubeObject {
  if (!isFields(value) || !isFields(value["metadata"])) return false
  const { apiVersion, kind, metadata } = value
  const { name, namespace, uid } = metadata as Fields
  return (
    typeof apiVersion === "string" &&
    API_VERSION.test(apiVersion) &&
    typeof kind === "string" &&
    KIND.test(kind) &&
    isName(name) &&
    (namespace === undefined || isName(namespace)) &&
    (uid === undefined || (typeof uid === "string" && uid.length <= 253))
  )
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const isTime = (value: unknown): value is string => typeof value === "string" && parseTime(value) !== undefined

const areTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string")

/** @throws Error for what is no JSON, or nested too deep */
function parsed(line: string): unknown {
  let depth = 0
  let isText = false
  for (let i = 0; i < line.length; i++) {
    const sign = line[i]
    if (isText) {
      if (sign === "\\") i++
      else if (sign === '"') isText = false
    } else if (sign === '"') isText = true
    else if (sign === "{" || sign === "[") {
      if (++depth > MOST_DEPTH) throw new Error(`it is nested deeper than ${MOST_DEPTH} levels`)
    } else if (sign === "}" || sign === "]") depth--
  }
  return JSON.parse(line)
}
