import { posix } from "node:path"
import { ownValue, setKey } from "../apimachinery/json/set-key.ts"
import type { Random } from "../clock/random.ts"
import { textOf } from "../go-fmt/go-bytes.ts"
import { goInt, compareText } from "../go-fmt/go-number.ts"
import { GoObject } from "../go-fmt/go-object.ts"
import { failCall, FunctionError } from "../go-template/function-error.ts"
import { BUILTINS, type TemplateFunction } from "../go-template/functions.ts"
import { TemplateError } from "../go-template/template-error.ts"
import { TemplateSet } from "../go-template/template-set.ts"
import { unboxed } from "../go-template/value.ts"
import { quoted } from "../go-fmt/quote.ts"
import type { Chart } from "./chart.ts"
import { filesObject } from "./files.ts"
import { COLLECTION_FUNCTIONS } from "./functions/collections.ts"
import { anyOf, text, type Dict } from "./functions/convert.ts"
import { dateFunctions } from "./functions/dates.ts"
import { ENCODING_FUNCTIONS } from "./functions/encoding.ts"
import { LOGIC_FUNCTIONS } from "./functions/logic.ts"
import { NUMBER_FUNCTIONS } from "./functions/numbers.ts"
import { randomFunctions } from "./functions/random.ts"
import { STRING_FUNCTIONS } from "./functions/strings.ts"
import { Limits } from "./limits.ts"
import { coalesceValues } from "./values.ts"

/** The version of Helm whose templates these are. */
export const HELM_VERSION = "v3.18.6"

export interface ReleaseFacts {
  readonly name: string
  readonly namespace: string
  readonly revision: number
  readonly isUpgrade: boolean
}

/** What a chart can ask about the cluster. */
export interface Capabilities {
  /** Such as `v1.36.0`. */
  readonly kubeVersion: string
  /** Versions and kinds of all APIs: `apps/v1`, `apps/v1/Deployment`. */
  readonly apiVersions: readonly string[]
}

/** Finds an object of the cluster, or the list of them where no name is given; an empty map where there is none. */
export type Lookup = (apiVersion: string, kind: string, namespace: string, name: string) => unknown

export interface RenderOptions {
  readonly chart: Chart
  readonly values: Readonly<Record<string, unknown>>
  readonly release: ReleaseFacts
  readonly capabilities: Capabilities
  readonly random: Random
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly lookup?: Lookup
  /** Milliseconds since any moment, to bound the time that templates take. */
  readonly monotonic: () => number
  /** Awaited between the files, so that a large chart keeps nobody waiting. */
  readonly pause?: () => Promise<void>
}

/** How often one template may include itself. Source: helm.sh/helm/v3/pkg/engine recursionMaxNums. */
const MOST_INCLUDED = 1000

interface Renderable {
  readonly name: string
  readonly text: string
  readonly scope: Dict
  readonly basePath: string
}

/**
 * Returns the files that a chart makes, by the paths of their templates. `chart` has the dependencies that are enabled
 * only. Source of the rules: helm.sh/helm/v3/pkg/engine/engine.go. @throws Error
 */
export async function renderChart(options: RenderOptions): Promise<ReadonlyMap<string, string>> {
  const { chart, values, release, capabilities, pause } = options
  const top = {
    Release: {
      Name: release.name,
      Namespace: release.namespace,
      Revision: goInt(release.revision),
      IsUpgrade: release.isUpgrade,
      IsInstall: !release.isUpgrade,
      Service: "Helm",
    },
    Capabilities: capabilitiesObject(capabilities),
    Values: coalesceValues(chart, values),
  }
  const all = templatesOf(chart, top, "", true).renderables.toSorted(byDepth)
  const limits = new Limits(options.monotonic)
  const included = new Map<string, number>()
  const set: TemplateSet = new TemplateSet(
    functionsFor(() => set, options, included, limits),
    limits,
  )
  for (const { name, text } of all) {
    try {
      set.parse(name, text)
    } catch (err) {
      throw err instanceof TemplateError ? new Error(parseFault(name, err.message), { cause: err }) : err
    }
    await pause?.()
  }
  const rendered = new Map<string, string>()
  limits.paused()
  for (const { name, scope, basePath } of all) {
    if (posix.basename(name).startsWith("_")) continue
    scope["Template"] = { Name: name, BasePath: basePath }
    try {
      rendered.set(name, set.execute(name, scope).replaceAll("<no value>", ""))
    } catch (err) {
      throw err instanceof TemplateError ? new Error(executionFault(err.message), { cause: err }) : err
    }
    await pause?.()
    limits.paused()
  }
  return rendered
}

const byDepth = (a: Renderable, b: Renderable): number =>
  b.name.split("/").length - a.name.split("/").length || compareText(b.name, a.name)

function parseFault(name: string, message: string): string {
  const parts = message.split(": ")
  return parts.length === 1 ? `parse error in (${name}): ${message}` : `parse error at (${parts[1]}): ${parts.at(-1)}`
}

const WARNING = /HELM_ERR_START(.*)HELM_ERR_END/s
function executionFault(message: string): string {
  const warning = WARNING.exec(message)?.[1]
  const place = message.split(": ")[1]
  return warning === undefined ? message : `execution error at (${place}): ${warning}`
}

interface Scoped {
  readonly renderables: readonly Renderable[]
  readonly scope: Dict
}

function templatesOf(chart: Chart, parent: Dict, path: string, isRoot: boolean): Scoped {
  const { metadata } = chart
  const own = isRoot ? metadata.name : `${path}/charts/${metadata.name}`
  const above = parent["Values"] as Readonly<Record<string, unknown>>
  const subcharts: Dict = {}
  const scope: Dict = {
    Chart: chartObject(chart, isRoot),
    Files: filesObject(chart.files),
    Release: parent["Release"],
    Capabilities: parent["Capabilities"],
    Values: isRoot ? above : (ownValue(above, metadata.name) ?? {}),
    Subcharts: subcharts,
  }
  const below = chart.dependencies.map((one) => {
    const found = templatesOf(one, scope, own, false)
    setKey(subcharts, one.metadata.name, found.scope)
    return found.renderables
  })
  const isLibrary = metadata.type === "library"
  const mine = chart.templates
    .filter(({ name }) => !isLibrary || posix.basename(name).startsWith("_"))
    .map(({ name, data }) => ({
      name: `${own}/${name}`,
      text: textOf(data),
      scope,
      basePath: `${own}/templates`,
    }))
  return { renderables: [...below.flat(), ...mine], scope }
}

function chartObject({ metadata }: Chart, isRoot: boolean): Dict {
  return {
    Name: metadata.name,
    Home: metadata.home ?? "",
    Sources: metadata.sources ?? [],
    Version: metadata.version,
    Description: metadata.description ?? "",
    Keywords: metadata.keywords ?? [],
    Maintainers: (metadata.maintainers ?? []).map(({ name = "", email = "", url = "" }) => ({
      Name: name,
      Email: email,
      URL: url,
    })),
    Icon: metadata.icon ?? "",
    APIVersion: metadata.apiVersion,
    Condition: metadata.condition ?? "",
    Tags: metadata.tags ?? "",
    AppVersion: metadata.appVersion ?? "",
    Deprecated: metadata.deprecated ?? false,
    Annotations: metadata.annotations ?? {},
    KubeVersion: metadata.kubeVersion ?? "",
    Dependencies: [],
    Type: metadata.type ?? "",
    IsRoot: isRoot,
  }
}

function capabilitiesObject({ kubeVersion, apiVersions }: Capabilities): GoObject {
  const known = new Set(apiVersions)
  const [, major = "", minor = ""] = /^v?(\d+)\.(\d+)/.exec(kubeVersion) ?? []
  return new GoObject({
    type: "*chartutil.Capabilities",
    fields: {
      KubeVersion: new GoObject({
        type: "chartutil.KubeVersion",
        text: kubeVersion,
        fields: { Version: kubeVersion, Major: major, Minor: minor },
        methods: { GitVersion: () => kubeVersion, String: () => kubeVersion },
      }),
      APIVersions: new GoObject({
        type: "chartutil.VersionSet",
        text: `[${apiVersions.join(" ")}]`,
        methods: { Has: (version) => known.has(text(version)) },
      }),
      HelmVersion: { Version: HELM_VERSION, GitCommit: "", GitTreeState: "clean", GoVersion: "go1.24" },
    },
  })
}

const FIXED: readonly Readonly<Record<string, TemplateFunction>>[] = [
  STRING_FUNCTIONS,
  NUMBER_FUNCTIONS,
  COLLECTION_FUNCTIONS,
  ENCODING_FUNCTIONS,
  LOGIC_FUNCTIONS,
]

/** Functions of Helm that charts hardly use; a template that names one is read, and fails where it is called. */
const MISSING: readonly string[] = [
  ...["abbrevboth", "ago", "decryptAES", "derivePassword", "duration", "durationRound", "encryptAES", "fromToml"],
  ...["mustToDate", "toDate"],
]
const missingFunctions = Object.fromEntries(
  MISSING.map((name) => [name, anyOf(() => failCall(`the function ${name} is not supported by k3ts`))]),
)

/** Ends a call with a message that the whole failure consists of. */
const warn = (message: string): never => failCall(`HELM_ERR_START${message}HELM_ERR_END`)

function functionsFor(
  set: () => TemplateSet,
  { random, now, lookup }: RenderOptions,
  included: Map<string, number>,
  limits: Limits,
): ReadonlyMap<string, TemplateFunction> {
  return new Map(
    [
      Object.fromEntries(BUILTINS),
      missingFunctions,
      ...FIXED,
      randomFunctions(random, now),
      dateFunctions(now),
      {
        fail: anyOf((message) => warn(text(message))),
        required: anyOf((message, value) => (value === null || value === "" ? warn(text(message)) : value)),
        lookup: anyOf((...names) =>
          lookup === undefined ? {} : lookup(...(names.map(text) as [string, string, string, string])),
        ),
        ...renderingFunctions(set, included),
      },
    ]
      .flatMap(Object.entries<TemplateFunction>)
      .map(([name, each]) => [name, limits.bounded(name, each)]),
  )
}

/** Returns `include` and `tpl` for a set of templates: what `tpl` defines can be included in it. */
function renderingFunctions(
  set: () => TemplateSet,
  included: Map<string, number>,
): Readonly<Record<"include" | "tpl", TemplateFunction>> {
  return {
    include: {
      parameters: ["string", "value"],
      call: ([name, data]) => {
        const count = included.get(name as string) ?? 0
        if (count > MOST_INCLUDED)
          failCall(`rendering template has a nested reference name: ${String(name)}: unable to execute template`)
        included.set(name as string, count + 1)
        try {
          return inCall(() => set().execute(name as string, unboxed(data)))
        } finally {
          included.set(name as string, count)
        }
      },
    },
    tpl: {
      parameters: ["string", "value"],
      call: ([template, data]) => {
        const own = renderingFunctions(() => copy, included)
        const copy: TemplateSet = set().copy(new Map([...set().functions, ...Object.entries(own)]))
        const shown = quoted(template as string)
        inCall(() => copy.parse("gotpl", template as string), `cannot parse template ${shown}: `)
        const out = inCall(
          () => copy.execute("gotpl", unboxed(data)),
          `error during tpl function execution for ${shown}: `,
        )
        return out.replaceAll("<no value>", "")
      },
    },
  }
}

/** Runs what executes another template as the call of a function. @throws FunctionError */
function inCall<T>(work: () => T, before = ""): T {
  try {
    return work()
  } catch (err) {
    if (err instanceof RangeError) return failCall(`${before}the templates are nested too deep`)
    if (!(err instanceof TemplateError) && !(err instanceof FunctionError)) throw err
    return failCall(`${before}${err.message}`)
  }
}
