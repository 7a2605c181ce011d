import { isDNS1123Subdomain } from "../../apimachinery/validation/names.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, mend, type Finding, type Mend } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { ACCOUNTS, NODES, PODS, SECRETS } from "../reading/kinds.ts"
import { workloadOf, wordsOf } from "../workload.ts"
import { pushAll } from "../../lists/push-all.ts"
import { command } from "../command.ts"

interface Failure {
  readonly code: string
  readonly matches: RegExp
  readonly says: (image: string, registry: string) => string
  /** Whether another name of the image could be the mend. */
  readonly byName?: true
  readonly hint?: (registry: string) => string
}

/** What errors of pulls mean; the first that matches counts. The words are those of containerd and of registries. */
const FAILURES: readonly Failure[] = [
  {
    code: "registry-proxy",
    matches: /proxyconnect|proxy authentication required|\b407\b/i,
    says: (image, registry) =>
      `the proxy through which the node asks registry ${registry} for image ${image} does not let it through`,
    hint: (registry) =>
      `see HTTPS_PROXY and NO_PROXY of the node's runtime; NO_PROXY should have ${registry} if it is reached without the proxy`,
  },
  {
    code: "image-rate-limited",
    matches: /toomanyrequests|too many requests|rate.?limit|\b429\b/i,
    says: (image, registry) =>
      `registry ${registry} refuses image ${image}, because too much was pulled: its rate limit is reached`,
  },
  {
    code: "registry-name-unknown",
    matches: /no such host|server misbehaving|name resolution|lookup [^ ]+ on/i,
    says: (image, registry) =>
      `the name of registry ${registry}, from which image ${image} comes, does not resolve on the node`,
    byName: true,
  },
  {
    code: "registry-speaks-http",
    matches: /server gave HTTP response to HTTPS client|first record does not look like a TLS handshake/i,
    says: (image, registry) =>
      `registry ${registry} of image ${image} speaks HTTP, and the node asks by HTTPS, since it is not configured otherwise`,
    hint: (registry) =>
      `name http://${registry} as the endpoint of a mirror in registries.yaml of the node, or give the registry a certificate`,
  },
  {
    code: "registry-wants-certificate",
    matches: /remote error: tls: (?:certificate required|bad certificate|unknown certificate)/i,
    says: (image, registry) =>
      `registry ${registry} of image ${image} wants a certificate of the node, and does not get one that it accepts`,
    hint: (registry) => `give the node a certificate for ${registry} (tls of the registry in registries.yaml)`,
  },
  {
    code: "registry-certificate",
    matches: /certificate has expired|not yet valid/i,
    says: (image, registry) =>
      `the certificate of registry ${registry} of image ${image} is not valid at this time: it has expired, or the node's clock is wrong`,
  },
  {
    code: "registry-certificate",
    matches: /certificate is (?:not )?valid for|doesn't contain any IP SANs|certificate name mismatch/i,
    says: (image, registry) => `the certificate of registry ${registry} of image ${image} is for another name`,
    hint: () => "name the registry as its certificate does, or give it a certificate for this name",
  },
  {
    code: "registry-certificate",
    matches: /x509|certificate|tls: /i,
    says: (image, registry) => `the node does not trust the certificate of registry ${registry} of image ${image}`,
  },
  {
    code: "registry-failing",
    matches: /\b50[0234]\b|registry is down|service unavailable|bad gateway/i,
    says: (image, registry) =>
      `registry ${registry} answers, but with an error of its own, when asked for image ${image}`,
  },
  {
    code: "registry-unreachable",
    matches:
      /connection refused|i\/o timeout|deadline exceeded|no route to host|network is unreachable|connection reset|TLS handshake timeout/i,
    says: (image, registry) => `the node cannot reach registry ${registry} of image ${image}`,
  },
  {
    code: "registry-breaks-off",
    matches: /unexpected EOF/i,
    says: (image, registry) => `the connection to registry ${registry} breaks off while image ${image} is pulled`,
  },
  {
    code: "image-format",
    matches: /media type \S+ is no longer supported|manifest\.v1\+|unsupported (?:media type|manifest)/i,
    says: (image) => `image ${image} has a format that the node's runtime does not read (any more)`,
    hint: () => "build and push it again with present tools: manifests of schema 1 are not read since containerd 2.1",
  },
  {
    code: "image-ids",
    matches: /lchown[^\n]*invalid argument/i,
    says: (image) => `image ${image} has files of users that the node cannot have: its runtime has too few user ids`,
    hint: () =>
      "give the user of the runtime more ids in /etc/subuid and /etc/subgid, or build the image with lower ones",
  },
  {
    code: "image-signature",
    matches: /signature (?:verification|validation)|no (?:matching|valid) signatures?|signature (?:is )?required/i,
    says: (image) => `image ${image} is not taken by the node, which wants a signature that it accepts`,
  },
  {
    code: "image-pulls-limited",
    matches: /pull QPS exceeded/i,
    says: (image) =>
      `the kubelet pulls image ${image} later: it pulls only so many images a second (registryPullQPS, registryBurst)`,
  },
  {
    code: "image-platform",
    matches: /no match for platform|no matching manifest|does not match the specified platform/i,
    says: (image) => `image ${image} exists, but not for the platform of the node`,
  },
  {
    code: "node-disk-full",
    matches: /no space left on device/i,
    says: (image) => `the node has no disk space for image ${image}`,
  },
  {
    code: "image-not-found-or-private",
    matches: /insufficient_scope|pull access denied|repository does not exist or may require/i,
    says: (image, registry) =>
      `image ${image} does not exist in ${registry}, or needs credentials: the registry does not say which`,
    byName: true,
  },
  {
    code: "image-credentials",
    matches:
      /unauthorized|authentication required|no basic auth|authorization failed|\b401\b|\b403\b|denied|forbidden/i,
    says: (image, registry) =>
      `registry ${registry} does not give image ${image} to the node without other credentials`,
  },
  {
    code: "image-not-found",
    matches: /not found|manifest unknown|name unknown|\b404\b/i,
    says: (image, registry) => `image ${image} does not exist in ${registry}`,
    byName: true,
  },
]

/** Returns what an error of a pull means; undefined for words that no registry is known to use. */
export function pullFailure(
  image: string,
  words: string,
): { readonly code: string; readonly says: string } | undefined {
  const said = withoutNames(words, image)
  const failure = FAILURES.find(({ matches }) => matches.test(said))
  return failure === undefined ? undefined : { code: failure.code, says: failure.says(image, registryOf(image)) }
}

export const PULL_REASONS: readonly string[] = [
  "ErrImagePull",
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "InvalidImageName",
  "RegistryUnavailable",
  "ImageInspectError",
]

/** Returns why the image of a container cannot be pulled. `words` are what the kubelet said last about it. */
export async function imageFinding(
  pod: Pod,
  { name, image = "" }: { readonly name: string; readonly image?: string | undefined },
  reason: string,
  words: string,
  ward: Ward,
): Promise<Finding> {
  const workload = await workloadOf(pod, ward)
  const evidence = [`container ${name}: ${reason}${words === "" ? "" : `: ${words}`}`]
  const other = await nearImage(image, ward)
  const byName: readonly Mend[] =
    other === undefined
      ? []
      : [
          mend(
            command`kubectl set image ${wordsOf(workload.ref)} ${`${name}=${other}`}`,
            `uses ${other}, which the cluster has`,
          ),
        ]
  const general = [`${command`kubectl set image ${wordsOf(workload.ref)} ${name}=IMAGE`} sets another image`]
  if (reason === "InvalidImageName")
    return finding("image-name-invalid", `${JSON.stringify(image)} is no name of an image${nameWords(image, words)}`, {
      evidence,
      mends: byName,
      hints: general,
    })
  if (reason === "ErrImageNeverPull")
    return finding(
      "image-never-pulled",
      `image ${image} is not on node ${pod.spec.nodeName ?? ""}, and imagePullPolicy Never forbids to pull it`,
      { evidence, hints: ["import it there (k3ts images import), or set imagePullPolicy: IfNotPresent"] },
    )
  const registry = registryOf(image)
  const missing = await credentials(pod, registry, ward)
  const said = withoutNames(words, image)
  const failure = FAILURES.find(({ matches }) => matches.test(said))
  if (failure === undefined)
    return finding("image-pull-failed", `image ${image} cannot be pulled: ${words || reason}`, {
      evidence,
      hints: general,
    })
  const isAboutRights = ["image-credentials", "image-not-found-or-private"].includes(failure.code)
  if (isAboutRights && missing !== undefined && missing.sure)
    return finding("image-credentials", `${failure.says(image, registry)}; ${missing.says}`, {
      evidence,
      hints: missing.hints,
    })
  return finding(
    failure.code,
    failure.says(image, registry) +
      (failure.byName === true && other !== undefined ? `; perhaps ${other} is meant` : "") +
      (isAboutRights && missing !== undefined ? `; ${missing.says}` : ""),
    {
      evidence,
      mends: failure.byName === true ? byName : [],
      hints: [
        ...(failure.byName === true ? general : []),
        ...(isAboutRights ? (missing?.hints ?? []) : []),
        ...(failure.hint === undefined ? [] : [failure.hint(registry)]),
      ],
    },
  )
}

const nameWords = (image: string, words: string): string =>
  /must be lowercase/.test(words) ? ": only lower case is allowed" : /\s/.test(image) ? ": it has a space in it" : ""

/** Returns an error without the names and URLs in it: an image may be called `rate-limit:429`. */
function withoutNames(words: string, image: string): string {
  const path = pathOf(image)
  const isName = (word: string) =>
    word.includes("://") || word.includes(`${path}:`) || word.includes(`${path}@`) || word.includes(`"${image}"`)
  return words
    .split(" ")
    .filter((word) => !isName(word))
    .join(" ")
}

/** Returns the registry of an image. Source: distribution/reference, splitDockerDomain. */
export function registryOf(image: string): string {
  const [first = "", ...rest] = image.split("/")
  return rest.length > 0 && (/[.:]/.test(first) || first === "localhost") ? first : "docker.io"
}

/** An image of the cluster with nearly the same name. */
async function nearImage(image: string, { reader }: Ward): Promise<string | undefined> {
  const nodes = (await reader.listIfAllowed(NODES)) ?? []
  const pods = (await reader.listIfAllowed(PODS)) ?? []
  const used = pods.flatMap(({ spec, status }) =>
    (status.containerStatuses ?? [])
      .filter(({ state }) => state?.running !== undefined)
      .map(({ name }) => spec.containers.find((one) => one.name === name)?.image ?? ""),
  )
  const there = nodes.flatMap(({ status }) => (status.images ?? []).flatMap(({ names }) => names ?? []))
  const known = [...new Set([...used, ...there.filter((name) => !name.includes("@")).map(shortName)])].filter(
    (name) => name !== "" && shortName(name) !== shortName(image) && isNear(name, image),
  )
  const short = nearest(
    shortName(image),
    known.map((name) => shortName(name)),
  )
  return short === undefined ? undefined : (known.find((name) => shortName(name) === short) ?? short)
}

/** Whether the registries of two images are the same or nearly, and their names too; their tags may be any. */
function isNear(one: string, other: string): boolean {
  const near = (a: string, b: string) => a === b || nearest(a, [b]) !== undefined
  return near(registryOf(one), registryOf(other)) && near(pathOf(one), pathOf(other))
}

/** `k3ts.local/team/web:1` has the path `team/web`. */
function pathOf(image: string): string {
  const short = shortName(image)
  const registry = `${registryOf(short)}/`
  return (short.startsWith(registry) ? short.slice(registry.length) : short).replace(/@.*$/, "").replace(/:[^:]*$/, "")
}

/** `docker.io/library/nginx:1` is written `nginx:1`. */
const shortName = (image: string): string => image.replace(/^docker\.io\//, "").replace(/^library\//, "")

interface Credentials {
  readonly says: string
  readonly hints: readonly string[]
  /** Whether this alone explains a refusal. */
  readonly sure: boolean
}

/** Returns what is the matter with the pod's credentials for a registry. */
async function credentials(pod: Pod, registry: string, { reader }: Ward): Promise<Credentials | undefined> {
  const { spec, metadata } = pod
  const { namespace = "" } = metadata
  const named = (spec.imagePullSecrets ?? []).map(({ name }) => name ?? "")
  const commandFor = (secret: string) =>
    command`kubectl create secret docker-registry ${secret} -n ${namespace} --docker-server=${registry} --docker-username=USER --docker-password=PASSWORD`
  const create = String(commandFor("NAME"))
  const late = named.length === 0 ? await secretOfAccount(pod, reader) : undefined
  if (late !== undefined)
    return {
      says: `the pod names no imagePullSecrets: its ServiceAccount has ${late} only since it was made`,
      hints: ["make the pod anew: it gets the imagePullSecrets that its ServiceAccount has then"],
      sure: true,
    }
  if (named.length === 0)
    return {
      says: "the pod names no imagePullSecrets",
      hints: [`${create}, and name it in imagePullSecrets`],
      sure: false,
    }
  const registries: string[] = []
  for (const name of named) {
    let secret
    try {
      secret = await reader.get(SECRETS, namespace, name)
    } catch {
      return { says: `Secret ${name} of imagePullSecrets may not be read`, hints: [], sure: false }
    }
    if (secret === undefined)
      return {
        says: `Secret ${name} of imagePullSecrets does not exist in namespace ${namespace}`,
        hints: isDNS1123Subdomain(name) === undefined ? [String(commandFor(name))] : [],
        sure: true,
      }
    if (!PULL_TYPES.includes(secret.type ?? ""))
      return {
        says: `Secret ${name} of imagePullSecrets is of type ${secret.type ?? "Opaque"}, and kubelets read only ${PULL_TYPES.join(" and ")}`,
        hints: [create],
        sure: true,
      }
    pushAll(registries, [
      ...registriesIn(secret.data?.[".dockerconfigjson"]),
      ...Object.keys(parsedObject(secret.data?.[".dockercfg"])),
    ])
  }
  return registries.some((one) => one.includes(registry) || (registry === "docker.io" && /docker\.io/.test(one)))
    ? { says: `the credentials in Secret ${named.join(", ")} are not accepted`, hints: [create], sure: false }
    : {
        says: `Secret ${named.join(", ")} has no credentials for ${registry}${registries.length === 0 ? "" : `, but for ${registries.join(", ")}`}`,
        hints: [create],
        sure: true,
      }
}

/** Returns which Secret the account of a pod names, which the pod would have got if it were made now. */
async function secretOfAccount({ spec, metadata }: Pod, reader: Ward["reader"]): Promise<string | undefined> {
  const name = spec.serviceAccountName ?? "default"
  const account = await reader.get(ACCOUNTS, metadata.namespace, name).catch(() => undefined)
  return account?.imagePullSecrets?.[0]?.name
}

/** The types of Secrets from which kubelets read credentials. Source: credentialprovider/secrets/secrets.go. */
const PULL_TYPES: readonly string[] = ["kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"]

const registriesIn = (data: string | undefined): readonly string[] => Object.keys(parsedObject(data)["auths"] ?? {})

function parsedObject(data: string | undefined): Readonly<Record<string, object>> {
  try {
    const value: unknown = JSON.parse(atob(data ?? ""))
    return typeof value === "object" && value !== null ? (value as Record<string, object>) : {}
  } catch {
    return {}
  }
}
