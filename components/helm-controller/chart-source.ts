import { createHash } from "node:crypto"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import type { Client } from "../../pkg/client/client.ts"
import type { HelmChart } from "../../pkg/k3s-kinds/helmchart.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { compareVersions, isInRange, parseVersion } from "../../pkg/helm/semver.ts"
import { parseYaml } from "../../pkg/yaml/yaml.ts"
import { download, type Downloaded, type DownloadOptions } from "./download.ts"

const textIn = (data: string | undefined): string => Buffer.from(data ?? "", "base64").toString("utf8")

/** Returns the packed chart that a HelmChart names. @throws Error */
export async function packedChart(client: Client, chart: HelmChart, clock: Clock): Promise<Uint8Array> {
  const { spec } = chart
  if (spec.chartContent !== undefined && spec.chartContent !== "") return Buffer.from(spec.chartContent, "base64")
  const { chart: name = "", repo = "", version = "" } = spec
  const options = { clock, ...(await optionsOf(client, chart)) }
  const address = repo !== "" && !name.includes("://") ? `${repo.replace(/\/$/, "")}/${name}` : name
  if (address.startsWith("oci://"))
    return fromRegistry(
      address.slice("oci://".length),
      version,
      options,
      await registryUser(client, chart, address),
      spec.plainHTTP === true,
    )
  if (repo !== "") return fromRepository(repo, name, version, options)
  if (!/^https?:\/\//.test(name))
    throw new Error(
      `the chart ${JSON.stringify(name)} is no address: give repo, or a chart that begins with https:// or oci://`,
    )
  return succeeded(await download(name, options)).body
}

function succeeded(answer: Downloaded): Downloaded {
  if (answer.status !== 200) throw new Error(`${answer.url.origin}${answer.url.pathname} answers ${answer.status}`)
  return answer
}

async function optionsOf(
  client: Client,
  { metadata: { namespace }, spec }: HelmChart,
): Promise<Omit<DownloadOptions, "clock">> {
  const { authSecret, repoCA = "", repoCAConfigMap } = spec
  const data =
    authSecret?.name === undefined ? undefined : (await client.get(Secret, { namespace, name: authSecret.name })).data
  const authorities =
    repoCAConfigMap?.name === undefined
      ? []
      : Object.values((await client.get(ConfigMap, { namespace, name: repoCAConfigMap.name })).data ?? {})
  const caPem = [repoCA, ...authorities].filter((pem) => pem !== "").join("\n")
  return {
    ...(data === undefined ? {} : { authorization: basic(textIn(data["username"]), textIn(data["password"])) }),
    ...(caPem === "" ? {} : { caPem }),
    skipVerify: spec.insecureSkipTLSVerify,
    sendsToAll: spec.authPassCredentials,
  }
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`

interface Indexed {
  readonly version?: unknown
  readonly urls?: readonly string[]
}

/** Finds a chart in the index of a repository. Source: helm.sh/helm/v3/pkg/repo. */
async function fromRepository(
  repo: string,
  name: string,
  version: string,
  options: DownloadOptions,
): Promise<Uint8Array> {
  const base = `${repo.replace(/\/$/, "")}/`
  const { body } = succeeded(await download(`${base}index.yaml`, options))
  const { entries } = parseYaml(body.toString("utf8")).value as {
    entries?: Readonly<Record<string, readonly Indexed[]>>
  }
  const versions = (entries !== undefined && Object.hasOwn(entries, name) ? entries[name]! : []).flatMap((one) => {
    const text = String(one.version)
    try {
      return [{ ...one, text, parsed: parseVersion(text) }]
    } catch {
      return []
    }
  })
  const newest = versions.toSorted((a, b) => compareVersions(b.parsed, a.parsed))
  const isExact = newest.some(({ text }) => text === version)
  const found = newest.find(({ text }) =>
    isExact ? text === version : isInRange(version === "" ? "*" : version, text),
  )
  const url = found?.urls?.[0]
  if (url === undefined)
    throw new Error(
      `chart ${JSON.stringify(name)} version ${JSON.stringify(version === "" ? "*" : version)} not found in ${repo} repository`,
    )
  return succeeded(await download(new URL(url, base).href, { ...options, home: base })).body
}

const CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
const MANIFEST = "application/vnd.oci.image.manifest.v1+json"

async function registryUser(client: Client, chart: HelmChart, address: string): Promise<string | undefined> {
  const { dockerRegistrySecret: secret } = chart.spec
  if (secret?.name === undefined) return undefined
  const { namespace } = chart.metadata
  const { data } = await client.get(Secret, { namespace, name: secret.name })
  const { auths = {} } = JSON.parse(textIn(data?.[".dockerconfigjson"])) as {
    auths?: Readonly<Record<string, { auth?: string; username?: string; password?: string }>>
  }
  const host = address.slice("oci://".length).split("/")[0]!
  const found = Object.entries(auths).find(([name]) => name.replace(/^https?:\/\//, "").split("/")[0] === host)?.[1]
  if (found === undefined) return undefined
  return found.auth === undefined ? basic(found.username ?? "", found.password ?? "") : `Basic ${found.auth}`
}

/** Pulls a chart from a registry. Source: the OCI distribution specification; helm.sh/helm/v3/pkg/registry. */
async function fromRegistry(
  reference: string,
  wanted: string,
  options: DownloadOptions,
  user: string | undefined,
  isPlain: boolean,
): Promise<Uint8Array> {
  const [, host = "", path = "", tag = "", digest = ""] =
    /^([^/]+)\/(.+?)(?::([\w.+-]+))?(?:@(sha256:[0-9a-f]{64}))?$/.exec(reference) ?? []
  if (path === "") throw new Error(`oci://${reference} is no reference of a chart`)
  const base = `${isPlain ? "http" : "https"}://${host}/v2/${path}`
  let authorization = user
  const ask = async (url: string, accept?: string): Promise<Downloaded> => {
    const of = (value: string | undefined) => ({
      ...options,
      ...(value === undefined ? {} : { authorization: value }),
      ...(accept === undefined ? {} : { accept }),
    })
    const answer = await download(url, of(authorization))
    if (answer.status !== 401) return succeeded(answer)
    authorization = await tokenFor(answer, of(user))
    return succeeded(await download(url, of(authorization)))
  }
  const version = digest !== "" ? digest : tag !== "" ? tag : await newestTag(base, wanted, ask)
  const described = (await ask(`${base}/manifests/${version.replaceAll("+", "_")}`, MANIFEST)).body
  if (digest !== "") checkDigest(described, digest)
  const manifest = JSON.parse(described.toString("utf8")) as {
    layers?: readonly { mediaType: string; digest: string }[]
  }
  const layer = manifest.layers?.find(({ mediaType }) => mediaType === CHART_LAYER)
  if (layer === undefined) throw new Error(`oci://${reference} is no chart: it has no layer of type ${CHART_LAYER}`)
  return checkDigest((await ask(`${base}/blobs/${layer.digest}`)).body, layer.digest)
}

/** Returns content whose digest is the one that was asked for. Source: OCI image-spec, descriptor.md. @throws Error */
function checkDigest(content: Buffer, wanted: string): Buffer {
  const algorithm = wanted.startsWith("sha512:") ? "sha512" : "sha256"
  const digest = `${algorithm}:${createHash(algorithm).update(content).digest("hex")}`
  if (digest !== wanted) throw new Error(`the registry has sent content with the digest ${digest} for ${wanted}`)
  return content
}

async function newestTag(base: string, wanted: string, ask: (url: string) => Promise<Downloaded>): Promise<string> {
  if (/^v?\d+\.\d+\.\d+/.test(wanted)) return wanted
  const { tags } = JSON.parse((await ask(`${base}/tags/list`)).body.toString("utf8")) as { tags?: readonly string[] }
  const range = wanted === "" ? "*" : wanted
  const fit = (tags ?? [])
    .map((tag) => tag.replaceAll("_", "+"))
    .filter((tag) => /^v?\d+\.\d+\.\d+/.test(tag) && isInRange(range, tag))
    .toSorted((a, b) => compareVersions(parseVersion(b), parseVersion(a)))
  if (fit[0] === undefined) throw new Error(`${base} has no version in the range ${range}`)
  return fit[0]
}

/** Gets a token as the registry asks for it. Source: distribution's token authentication. */
async function tokenFor({ headers, url }: Downloaded, options: DownloadOptions): Promise<string> {
  const challenge = headers["www-authenticate"] ?? ""
  const part = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1]
  const realm = part("realm")
  if (!/^bearer /i.test(challenge) || realm === undefined) throw new Error(`${url.origin} refuses the credentials`)
  const asked = new URL(realm)
  for (const name of ["service", "scope"]) if (part(name) !== undefined) asked.searchParams.set(name, part(name)!)
  const { body } = succeeded(await download(asked.href, options))
  const { token, access_token: other } = JSON.parse(body.toString("utf8")) as { token?: string; access_token?: string }
  return `Bearer ${token ?? other ?? ""}`
}
