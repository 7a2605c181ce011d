import { readFileSync, writeFileSync } from "node:fs"
import { gunzipSync, gzipSync } from "node:zlib"
import { groups, type Group, type Step } from "./cases.ts"

/** The verdicts of Kubernetes' own server, one a line, which `hack/compare/record-custom-resources.ts` has asked for. */
const FILE = new URL("answers.txt.gz", import.meta.url)

/** Sends a request and gives the code and the body. */
export type Send = (
  method: string,
  path: string,
  body?: unknown,
  type?: string,
) => Promise<{ readonly code: number; readonly body: unknown }>

export interface Verdict {
  readonly step: Step
  /** The code; the reason, message and causes of a refusal, or what is accepted. */
  readonly verdict: string
}

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/** Makes the definitions and objects of all cases on a server, asks for each verdict, and takes them away again. */
export async function verdictsOf(send: Send): Promise<readonly Verdict[]> {
  const all: Verdict[] = []
  for (const group of groups()) {
    const { definition, name, objects, collection, steps } = group
    if (definition !== undefined) {
      const { code } = await send("POST", DEFINITIONS, definition)
      if (code === 201) await served(send, group)
    }
    for (const object of objects) await send("POST", `${collection}?fieldManager=first`, object)
    for (const step of steps) {
      const { code, body } = await send(step.method, step.path, step.body, step.type)
      all.push({ step, verdict: verdict(code, body) })
    }
    if (definition !== undefined) await send("DELETE", `${DEFINITIONS}/${name}`)
  }
  return all
}

/** A server serves a new definition after a while. */
async function served(send: Send, { collection }: Group): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if ((await send("GET", collection)).code === 200) return
    await Bun.sleep(50)
  }
}

interface Body {
  readonly reason?: string
  readonly message?: string
  readonly spec?: unknown
  readonly details?: {
    readonly causes?: readonly { readonly field?: string; readonly reason?: string; readonly message?: string }[]
  }
}

const MOST_CHARACTERS = 160

function verdict(code: number, body: unknown): string {
  const { reason = "", message = "", spec, details } = body as Body
  if (code < 300) return `${code}\t${shortened(JSON.stringify(sorted(spec)) ?? "")}`
  const causes = (details?.causes ?? []).map(
    (cause) => `${cause.field ?? ""}:${cause.reason ?? ""}:${cause.message ?? ""}`,
  )
  // Maps have no order in Go: causes come in any.
  const told = causes.length === 0 ? [withoutVolatile(message)] : causes.map(withoutVolatile).toSorted()
  return [code, reason, ...told.map(shortened)].join("\t").replaceAll("\n", "\\n")
}

const withoutVolatile = (text: string): string =>
  text
    // The type of self is named by the nanosecond.
    .replace(/selfType\d+/g, "selfType")
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UUID")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replace(/\\?"resourceVersion\\?":\\?"\d+\\?"/g, "VERSION")

const shortened = (text: string): string =>
  text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}… ${Bun.hash.crc32(text).toString(16)}`

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}

const lineOf = ({ step, verdict }: Verdict): string =>
  `${Bun.hash.crc32(JSON.stringify(step)).toString(16)}\t${verdict}`

export const record = (verdicts: readonly Verdict[]): void =>
  writeFileSync(FILE, gzipSync(verdicts.map(lineOf).join("\n"), { level: 9 }))

/** Verdicts that differ from the recorded ones. @throws Error when the cases have changed since they were recorded */
export function differences(
  verdicts: readonly Verdict[],
): readonly { readonly step: Step; readonly wants: string; readonly found: string }[] {
  const recorded = gunzipSync(readFileSync(FILE)).toString("utf8").split("\n")
  return verdicts.flatMap((given, i) => {
    const [hash, ...wants] = (recorded[i] ?? "").split("\t")
    const [own, ...found] = lineOf(given).split("\t")
    if (hash !== own) throw new Error(`Case ${i} is not the recorded one: record them anew`)
    return wants.join("\t") === found.join("\t")
      ? []
      : [{ step: given.step, wants: wants.join("\t"), found: found.join("\t") }]
  })
}
