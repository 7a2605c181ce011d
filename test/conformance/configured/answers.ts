import { readFileSync } from "node:fs"
import { Agent } from "node:https"
import { send } from "../../harness/server.ts"
import { auditLogOf, AUDIENCE } from "./files.ts"
import type { Programs } from "./programs.ts"
import { REQUESTS } from "./requests.ts"
import type { Sent } from "./sent.ts"
import { usersOf, type User, type UserName } from "./users.ts"

/** What a server has answered, and recorded in its audit log, without what differs from run to run. */
export interface Answered {
  readonly code: number
  readonly headers?: Readonly<Record<string, unknown>>
  readonly body: unknown
  readonly audit: readonly unknown[]
}

/** Sends all requests to the server at a port. */
export async function answersOf(
  port: number,
  programs: Programs,
  folder: string,
): Promise<ReadonlyMap<string, Answered>> {
  const users: Record<UserName, User> = usersOf(programs)
  const plain = new Agent({ keepAlive: true })
  const answers = new Map<string, Omit<Answered, "audit">>()
  const ask = async ({ title, user, method, path, body, headers = {} }: Sent, number: number) => {
    const { agent = plain, headers: own = {} } = users[user]
    const {
      status,
      headers: received,
      body: bytes,
    } = await send(
      agent,
      port,
      method,
      path,
      {
        "user-agent": "compare",
        "audit-id": auditIdOf(number),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...own,
        ...headers,
      } as Record<string, string>,
      body === undefined || typeof body === "string" ? body : withPrograms(JSON.stringify(body), programs),
    )
    answers.set(title, {
      code: status,
      ...toldIn(received),
      body: bodyOf(bytes.toString(), String(received["content-type"])),
    })
    return bytes.toString()
  }
  for (const [number, sent] of REQUESTS.entries()) {
    if (sent.title === FIRST_OF_ACCOUNT) await giveTokens(users, port, plain)
    if (sent.isSlow !== true) await ask(sent, number)
  }
  await Promise.all(REQUESTS.map((sent, number) => (sent.isSlow === true ? ask(sent, number) : undefined)))
  for (const { agent = plain } of Object.values(users)) agent.destroy()
  const events = await auditEvents(folder)
  const normal = normalizer(programs)
  return new Map(
    REQUESTS.flatMap(({ title, setup }, number): [string, Answered][] =>
      setup === true
        ? []
        : [[title, normal({ ...answers.get(title)!, audit: events.get(auditIdOf(number)) ?? [] }) as Answered]],
    ),
  )
}

/** Webhooks are registered where this run has them. */
const withPrograms = (body: string, { webhooks, authorities }: Programs): string =>
  body
    .replaceAll("WEBHOOKS_CA", Buffer.from(authorities.webhooks.certPem).toString("base64"))
    .replaceAll("WEBHOOKS", webhooks)

const FIRST_OF_ACCOUNT = "who is service-account"

async function giveTokens(users: Record<UserName, User>, port: number, agent: Agent): Promise<void> {
  const tokenFor = async (audiences: string[]): Promise<User> => {
    const { body } = await send(
      agent,
      port,
      "POST",
      "/api/v1/namespaces/compared/serviceaccounts/default/token",
      { ...(users.admin.headers as Record<string, string>), "content-type": "application/json" },
      JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences } }),
    )
    const { status } = JSON.parse(body.toString()) as { readonly status: { readonly token: string } }
    return { headers: { authorization: `Bearer ${status.token}` } }
  }
  users["service-account"] = await tokenFor([AUDIENCE])
  users["service-account for others"] = await tokenFor(["elsewhere"])
}

const auditIdOf = (number: number): string => `compare-${number}`

function toldIn(headers: Readonly<Record<string, unknown>>): Pick<Answered, "headers"> {
  const told = ["warning", "www-authenticate", "retry-after", "audit-id"].flatMap((name) =>
    headers[name] === undefined ? [] : [[name, headers[name]]],
  )
  return { headers: Object.fromEntries(told) as Record<string, unknown> }
}

/** The parsed body; of long documents and metrics only that there is one. */
function bodyOf(text: string, type: string): unknown {
  if (text.length > 60_000 || text.startsWith("# HELP")) return "(long)"
  if (!type.includes("json")) return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as unknown)
  }
}

interface AuditEvent {
  readonly auditID: string
}

/** The audit events of the requests by their IDs. The last ones may come a moment after their answers. */
async function auditEvents(folder: string): Promise<ReadonlyMap<string, readonly unknown[]>> {
  await Bun.sleep(1000)
  const lines = readFileSync(auditLogOf(folder), "utf8").trim().split("\n")
  return Map.groupBy(
    lines.map((line) => JSON.parse(line) as AuditEvent),
    ({ auditID }) => auditID,
  )
}

const CHANGING = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "requestReceivedTimestamp",
  "stageTimestamp",
  "deletionTimestamp",
  "gitCommit",
  "gitTreeState",
  "gitVersion",
  "buildDate",
  "goVersion",
  "compiler",
  "platform",
  "time",
  "continue",
])

/** Returns a function that replaces what differs from run to run. */
function normalizer(programs: Programs): (value: unknown) => unknown {
  const normal = (value: unknown, name = ""): unknown => {
    if (typeof value === "string") {
      if (name === "cells") return value.replace(/^\d+m?s$/, "(age)")
      if (CHANGING.has(name) && !(name === "uid" && !isUuid(value))) return `(${name})`
      return value
        .replaceAll(programs.plain.issuer, "PLAIN")
        .replaceAll(programs.expressive.issuer, "EXPRESSIVE")
        .replaceAll(programs.webhooks, "WEBHOOKS")
        .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}/g, "(uid)")
        .replaceAll(/X509SHA256=[0-9a-f]{64}/g, "X509SHA256=(hash)")
        .replaceAll(/\bgenerated-[a-z0-9]{5}\b/g, "generated-(name)")
        .replaceAll(
          /allowed by ClusterRoleBinding "(reader|pod-maker|system:(discovery|public-info-viewer|monitoring))" .*$/g,
          "allowed by one of several bindings",
        )
        .replaceAll(/kube-api-access-[a-z0-9]{5}/g, "kube-api-access-(name)")
        .replaceAll(/\b\d+\.\d+\.\d+\.\d+:\d+/g, "ADDRESS:PORT")
    }
    if (Array.isArray(value)) return value.map((one) => normal(one, name))
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !key.startsWith("apiserver.latency.k8s.io/"))
        .filter(([key, one]) => !(key === "annotations" && isEmptied(one)))
        .map(([key, one]) => [key, normal(ORDERED[key]?.(one) ?? one, key)]),
    )
  }
  return normal
}

const isEmptied = (annotations: unknown): boolean =>
  Object.keys(annotations as object).every((key) => key.startsWith("apiserver.latency.k8s.io/"))

interface Rule {
  readonly nonResourceURLs?: readonly string[]
}

const inOrder = (values: unknown): unknown =>
  Array.isArray(values)
    ? values
        .map((one: Rule) =>
          one.nonResourceURLs === undefined ? one : { ...one, nonResourceURLs: one.nonResourceURLs.toSorted() },
        )
        .filter((one) => !one.nonResourceURLs?.includes("/.well-known"))
        .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    : undefined

/** What has no order, or was changed by a patch of the server that was asked. */
const ORDERED: Readonly<Record<string, (value: unknown) => unknown>> = {
  sources: (value) => withoutPatch(value),
  /** Columns are described in each server's own words. */
  columnDefinitions: (value) =>
    (value as readonly { readonly description: string }[]).map(({ description: _, ...column }) => column),
  resourceRules: inOrder,
  nonResourceRules: inOrder,
  groups: (value) =>
    Array.isArray(value)
      ? value.filter((one: unknown) => !EXTENDING.includes((one as { name?: string }).name ?? ""))
      : undefined,
  evaluationError: (value) =>
    String(value).replace(/^\[(.*)\]$/, (_, all: string) => all.split(", ").toSorted().join(", ")),
}
/** Groups that a server may have beside those of Kubernetes. */
const EXTENDING = ["helm.cattle.io", "k3s.cattle.io", "metrics.k8s.io"]

/** Without the ConfigMap that the server which was asked adds to the volumes of accounts. */
const withoutPatch = (sources: unknown): unknown =>
  Array.isArray(sources)
    ? sources.filter((one: { configMap?: { name?: string } }) => one.configMap?.name !== "openshift-service-ca.crt")
    : sources

const isUuid = (text: string): boolean => /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(text)
