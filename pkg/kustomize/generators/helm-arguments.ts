/** A chart and how it is inflated, as a kustomization says. Source: kustomize api/types/helmchartargs.go. */
export interface HelmChart {
  readonly chartHome?: string
  readonly configHome?: string
  readonly name?: string
  readonly version?: string
  readonly repo?: string
  readonly releaseName?: string
  readonly namespace?: string
  readonly additionalValuesFiles?: readonly string[]
  readonly valuesFile?: string
  readonly valuesInline?: Readonly<Record<string, unknown>>
  readonly valuesMerge?: string
  readonly includeCRDs?: boolean
  readonly skipHooks?: boolean
  readonly apiVersions?: readonly string[]
  readonly kubeVersion?: string
  readonly nameTemplate?: string
  readonly skipTests?: boolean
  readonly debug?: boolean
  readonly devel?: boolean
}

/** Returns the arguments of `helm template`. */
export function helmArguments(chart: HelmChart, home: string): readonly string[] {
  const option = (name: string, value: string | undefined) => (value === undefined || value === "" ? [] : [name, value])
  const flag = (name: string, isSet: boolean | undefined) => (isSet === true ? [name] : [])
  return [
    "template",
    chart.releaseName || "--generate-name",
    `${home}/${chart.name}`,
    ...option("--namespace", chart.namespace),
    ...option("--name-template", chart.nameTemplate),
    ...option("-f", chart.valuesFile),
    ...(chart.additionalValuesFiles ?? []).flatMap((file) => ["-f", file]),
    ...(chart.apiVersions ?? []).flatMap((version) => ["--api-versions", version]),
    ...option("--kube-version", chart.kubeVersion),
    ...flag("--include-crds", chart.includeCRDs),
    ...flag("--skip-tests", chart.skipTests),
    ...flag("--no-hooks", chart.skipHooks),
    ...flag("--debug", chart.debug),
    ...flag("--devel", chart.devel),
  ]
}

/** Returns the arguments of `helm pull`. */
export function pullArguments(
  { name = "", repo = "", version = "", devel }: HelmChart,
  home: string,
): readonly string[] {
  const isRegistry = repo.startsWith("oci://")
  return [
    "pull",
    "--untar",
    "--untardir",
    home,
    ...(isRegistry ? [`${repo.replace(/\/$/, "")}/${name}`] : ["--repo", repo, name]),
    ...(version === "" ? [] : ["--version", version]),
    ...(devel === true ? ["--devel"] : []),
  ]
}
