import { errorMessage } from "../../errors/error-message.ts"
import { parseYaml } from "../../yaml/yaml.ts"
import { writeYaml } from "../../yaml/write.ts"
import type { FileLoader } from "../loader/file-loader.ts"
import { joinPath } from "../../apimachinery/go/go-path.ts"
import { isAbsolutePath } from "../loader/paths.ts"
import type { HelmProgram } from "../loader/remote.ts"
import { HELM_GENERATED } from "../resource/annotations.ts"
import { readResources } from "../resource/read-resources.ts"
import { ResourceMap } from "../resource/resource-map.ts"
import type { Schemas } from "../schema/schemas.ts"
import type { Generator } from "../transformers/transformer.ts"
import { helmArguments, pullArguments, type HelmChart } from "./helm-arguments.ts"
import { mergedValues } from "./helm-values.ts"

/** The flags about helm. */
export interface HelmOptions {
  readonly enabled: boolean
  /** The program that is run. */
  readonly command: string
  readonly apiVersions: readonly string[]
  readonly kubeVersion: string
  readonly debug: boolean
}

interface Context {
  readonly loader: FileLoader
  readonly schemas: Schemas
  readonly helm: HelmOptions
}

const MERGES = ["merge", "override", "replace"]

/** Returns a generator of the objects of a chart. Source: kustomize HelmChartInflationGenerator.go. */
export async function helmGenerator(given: HelmChart, context: Context): Promise<Generator> {
  const { helm, loader, schemas } = context
  if (!helm.enabled) throw new Error("must specify --enable-helm")
  if (helm.command === "") throw new Error("must specify --helm-command")
  const chart: HelmChart = {
    ...(helm.kubeVersion === "" ? {} : { kubeVersion: helm.kubeVersion }),
    ...(helm.apiVersions.length === 0 ? {} : { apiVersions: helm.apiVersions }),
    ...(helm.debug ? { debug: true } : {}),
    ...given,
  }
  if ((chart.name ?? "") === "") throw new Error("chart name cannot be empty")
  for (const file of chart.additionalValuesFiles ?? []) {
    try {
      await loader.load(file)
    } catch (err) {
      throw new Error(`could not load additionalValuesFile: ${errorMessage(err)}`, { cause: err })
    }
  }
  const valuesMerge = chart.valuesMerge || "override"
  if (!MERGES.includes(valuesMerge)) throw new Error(`valuesMerge must be one of [${MERGES.join(" ")}]`)
  return { generate: () => new HelmRun({ ...chart, valuesMerge }, context).generate(schemas) }
}

class HelmRun {
  readonly #chart: HelmChart
  readonly #context: Context
  readonly #home: string

  constructor(chart: HelmChart, context: Context) {
    this.#chart = chart
    this.#context = context
    const { chartHome = "charts", name = "", version = "", repo = "" } = chart
    const home = isAbsolutePath(chartHome) ? chartHome : joinPath(context.loader.root, chartHome)
    this.#home = version !== "" && repo !== "" ? joinPath(home, `${name}-${version}`) : home
  }

  async generate(schemas: Schemas): Promise<ResourceMap> {
    const program = this.#context.loader.helmProgram
    if (program === undefined)
      throw new Error(`exec: "${this.#context.helm.command}": executable file not found in $PATH`)
    const folder = await program.makeFolder()
    try {
      return await this.#inflate(program, folder, schemas)
    } finally {
      await program.removeFolder(folder)
    }
  }

  async #inflate(program: HelmProgram, folder: string, schemas: Schemas): Promise<ResourceMap> {
    const chart = this.#chart
    const run = (args: readonly string[]) => this.#run(program, args, chart.configHome || `${folder}/helm`)
    checkVersion(await run(["version", "--short"]))
    const path = joinPath(this.#home, chart.name!)
    if (!(await this.#context.loader.isFolder(path))) {
      if ((chart.repo ?? "") === "") throw new Error(`no repo specified for pull, no chart found at '${path}'`)
      await run(pullArguments(chart, this.#home))
    }
    const valuesFile = `${folder}/${chart.name}-kustomize-values.yaml`
    await program.write(valuesFile, await this.#values())
    const files = (chart.additionalValuesFiles ?? []).map((file) => joinPath(this.#context.loader.root, file))
    const text = await run(helmArguments({ ...chart, valuesFile, additionalValuesFiles: files }, this.#home))
    const map = ResourceMap.of(readResources(text, schemas))
    for (const resource of map.resources) resource.setAnnotation(HELM_GENERATED, "true")
    return map
  }

  async #values(): Promise<string> {
    const { valuesInline = {}, valuesMerge, valuesFile, name = "" } = this.#chart
    const { loader } = this.#context
    const path = valuesFile || joinPath(this.#home, name, "values.yaml")
    if (Object.keys(valuesInline).length === 0) return loader.loadText(path)
    if (valuesMerge === "replace") return writeYaml(valuesInline)
    const file = parseYaml(await loader.loadText(path)).value
    return writeYaml(valuesMerge === "merge" ? mergedValues(valuesInline, file) : mergedValues(file, valuesInline))
  }

  async #run(program: HelmProgram, args: readonly string[], home: string): Promise<string> {
    const { command } = this.#context.helm
    const variables = { HELM_CONFIG_HOME: home, HELM_CACHE_HOME: `${home}/.cache`, HELM_DATA_HOME: `${home}/.data` }
    const { stdout, stderr, failure } = await program.run(command, args, variables)
    if (failure === undefined) return stdout
    const shown = args.includes("--debug") ? ` Helm stack trace:\n${stderr}\nHelm template:\n${stdout}\n` : stderr
    const env = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
    throw new Error(
      `${shown === "" ? "" : `${shown}: `}unable to run: '${command} ${args.join(" ")}' with env=[${env.join(" ")}] (is '${command}' installed?): ${failure}`,
    )
  }
}

function checkVersion(output: string): void {
  const version = /v?(?<!\d)\d+(?:\.\d+)+/.exec(output)?.[0].replace(/^v/, "")
  if (version === undefined) throw new Error(`cannot find version string in ${output}`)
  if (!/^[34]\./.test(version)) throw new Error(`this plugin requires helm V3 or V4 but got v${version}`)
}
