/**
 * Creates the objects that every cluster starts with, in one transaction unless servers share the store: namespaces,
 * roles and bindings, priority classes, FlowSchemas and their priority levels, the Service by which pods reach the API
 * server, and the APIServices of the built-in groups. Later starts write only objects that are missing or have changed.
 * Sources: pkg/controlplane/controller/{systemnamespaces,kubernetesservice},
 * pkg/controlplane/controller/legacytokentracking, plugin/pkg/auth/authorizer/rbac/bootstrappolicy,
 * pkg/registry/{rbac,scheduling}/rest.
 */
import { APIService } from "../../pkg/api/apiregistration/v1/apiservice.ts"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Endpoints } from "../../pkg/api/core/v1/service/endpoints.ts"
import { dayOf, startOfDay, TRACKED_SINCE, TRACKING } from "../../pkg/api/core/v1/secret/legacy-tokens.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { IPAddress } from "../../pkg/api/networking/v1/ipaddress.ts"
import { ServiceCIDR } from "../../pkg/api/networking/v1/servicecidr.ts"
import type { Scheme } from "../../pkg/api/scheme.ts"
import { PriorityClass, SYSTEM_PRIORITIES } from "../../pkg/api/scheduling/v1/priorityclass.ts"
import { addressAt, familyOf, parseNetwork } from "../../pkg/apimachinery/addresses/cidr.ts"
import { k3tsIngressClass } from "../../pkg/api/networking/v1/k3ts-class.ts"
import { IngressClass } from "../../pkg/api/networking/v1/ingressclass.ts"
import { localPathClass } from "../../pkg/api/storage/v1/local-path.ts"
import { StorageClass } from "../../pkg/api/storage/v1/storageclass.ts"
import { deepEqual } from "../../pkg/apimachinery/json/equal.ts"
import { trackApplied, trackUpdate } from "../../pkg/apimachinery/patch/apply/track.ts"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import type { Features } from "../../pkg/component/features.ts"
import { timestamp, type Clock } from "../../pkg/clock/clock.ts"
import { uuid, type Random } from "../../pkg/clock/random.ts"
import type { Storage, Write } from "../../pkg/storage/storage.ts"
import { isRace } from "./store/is-race.ts"
import type { OwnExtension } from "./aggregator/extension-server.ts"
import { missingDefinitions, type DefinitionsOptions } from "./bootstrap/bootstrap-definitions.ts"
import { obsoleteObjects } from "./bootstrap/obsolete-objects.ts"
import { builtinServices, reconcileLocal } from "./aggregator/local-services.ts"
import { AUTHENTICATION_CONFIG, authenticationData, type Authorities } from "./authentication/authentication-config.ts"
import { want, type Wanted } from "./bootstrap/bootstrap-object.ts"
import { gatedRoles } from "./authorization/bootstrap-gated-roles.ts"
import { rbacObjects } from "./authorization/bootstrap-rbac.ts"
import { flowControlObjects } from "./flowcontrol/config/bootstrap-flowcontrol.ts"
import { ipAddressOf } from "./registry/core/service/ip-address.ts"
import { firstGeneration } from "./registry/generation.ts"

export interface BootstrapOptions extends Authorities, DefinitionsOptions {
  readonly storage: Storage
  readonly clock: Clock
  readonly random: Random
  /** The built-in kinds. */
  readonly scheme: Pick<Scheme, "groups">
  /** The ranges of Service addresses, that of the primary family first. */
  readonly serviceCidrs: readonly string[]
  /** The address of the API server inside the cluster. */
  readonly advertiseAddress: string
  readonly port: number
  /** Whether there is a default class for claims. */
  readonly localStorage?: boolean
  /** Whether there is a default class for Ingresses. */
  readonly ingress?: boolean
  /** Feature gates; those of Kubernetes 1.36 unless given. */
  readonly features?: Features
  /** APIs that other components of this process serve. */
  readonly ownExtensions?: readonly OwnExtension[]
}

const AUTHOR = "system:apiserver"
/** The server's own user agent up to the first slash. */
const MANAGER = "kube-apiserver"

export async function bootstrap(options: BootstrapOptions): Promise<void> {
  const { storage } = options
  const now = timestamp(options.clock)
  const managersOfForms: ManagersOfForms = new Map()
  const missing = (wanted: Wanted): Write | undefined => {
    const current = storage.get(wanted.key)
    if (current === undefined) return writeOf(options, wanted, newObject(options, wanted, now, managersOfForms), 0)
    const kept = wanted.reconcile?.(current.object, wanted.object)
    return kept === undefined || deepEqual(kept, current.object)
      ? undefined
      : writeOf(options, wanted, kept, current.revision)
  }
  const all = [...wantedObjects(options), ...(await missingDefinitions(options))]
  const writes = [...all.map((wanted) => () => missing(wanted)), ...obsoleteObjects(options)]
  if (storage.freshen === undefined) await storage.writeAll(writes.flatMap((write) => write() ?? []))
  else await Promise.all(writes.map((write) => writeShared(storage, write)))
}

/** Servers that start at the same time may race for one object; then the next attempt finds what another has written. */
const ATTEMPTS = 10

/** Writes one object of a store that servers share, whose log takes few objects at once. */
async function writeShared(storage: Storage, missing: () => Write | undefined): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const write = missing()
    if (write === undefined) return
    try {
      return void (await storage.write(write))
    } catch (err) {
      if (!isRace(err) || attempt === ATTEMPTS) throw err
    }
  }
}

/**
 * The objects that no option changes, decoded once per process. Decoding these 130 roles and bindings takes a third of
 * the start of a test cluster.
 */
let sameEverywhere: readonly Wanted[] | undefined

function wantedObjects(options: BootstrapOptions): readonly Wanted[] {
  const gated = options.features === undefined ? undefined : gatedRoles(options.features)
  const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"].map((name) =>
    want(Namespace, { metadata: { name } }),
  )
  return [
    ...namespaces,
    ...(gated === undefined
      ? (sameEverywhere ??= [...rbacObjects(), ...priorityClasses()])
      : [...rbacObjects(gated), ...priorityClasses()]),
    ...flowControlObjects(options.clock),
    ...kubernetesService(options),
    ...authenticationConfig(options),
    tokenTracking(options),
    ...builtinServices(options.scheme).map((service) => want(APIService, service, reconcileLocal)),
    ...(options.localStorage === true ? [want(StorageClass, localPathClass)] : []),
    ...(options.ingress === true ? [want(IngressClass, k3tsIngressClass)] : []),
  ]
}

type ManagersOfForms = Map<string, KubeObject["metadata"]["managedFields"]>

function newObject(
  { random }: BootstrapOptions,
  wanted: Wanted,
  now: string,
  managersOfForms: ManagersOfForms,
): KubeObject {
  const { resource } = wanted
  const strategy = { now, uuid: () => uuid(random), warn: () => undefined }
  // As in requests, fields that the strategy adds have no manager.
  const sent = withManagersOfForm(wanted, now, managersOfForms)
  const prepared = resource.prepareForCreate?.(sent, strategy) ?? sent
  const made = {
    ...prepared,
    metadata: { ...prepared.metadata, uid: uuid(random), creationTimestamp: now, ...firstGeneration(resource) },
  }
  return wanted.complete?.(made, now) ?? made
}

/** Does what `withManagers` does, only once for each form of each kind. */
function withManagersOfForm(wanted: Wanted, now: string, managersOfForms: ManagersOfForms): KubeObject {
  const { form, resource, object } = wanted
  if (form === undefined) return withManagers(wanted, now)
  const id = `${resource.plural} ${form}`
  const known = managersOfForms.get(id)
  if (known !== undefined) return { ...object, metadata: { ...object.metadata, managedFields: known } }
  const made = withManagers(wanted, now)
  managersOfForms.set(id, made.metadata.managedFields)
  return made
}

/** Returns the object with the managedFields that it would have if a separate request had written each part. */
function withManagers({ resource, object, manager = MANAGER, applied }: Wanted, now: string): KubeObject {
  if (applied === undefined) return trackUpdate(resource, undefined, object, { manager, now })
  const { [applied.field]: value, ...rest } = object as KubeObject & Readonly<Record<string, unknown>>
  const made = trackUpdate(resource, undefined, rest as KubeObject, { manager, now })
  const part = { [applied.field]: value }
  return trackApplied(resource, { ...made, ...part }, part, { ...applied, now })
}

const writeOf = ({ clock }: BootstrapOptions, { key }: Wanted, object: KubeObject, expected: number): Write => ({
  key,
  object,
  expected,
  time: clock.now(),
  author: AUTHOR,
})

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
  "system-cluster-critical":
    "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
}
const priorityClasses = (): readonly Wanted[] =>
  Object.entries(SYSTEM_PRIORITIES).map(([name, value]) =>
    want(PriorityClass, { metadata: { name }, value, description: DESCRIPTIONS[name] }),
  )

/**
 * The Service `kubernetes`, its endpoints with the address of the server, and the ServiceCIDR of the cluster IPs.
 */
function kubernetesService(options: BootstrapOptions): readonly Wanted[] {
  const { serviceCidrs, advertiseAddress, port, clock, storage } = options
  // Where servers share the store, each keeps the endpoints to those that are alive (live-servers.ts).
  const areShared = storage.freshen !== undefined
  const ip = addressAt(parseNetwork(serviceCidrs[0]!)!, 1)
  const metadata = { namespace: "default", name: "kubernetes" }
  return [
    want(
      Service,
      {
        metadata: { ...metadata, labels: { component: "apiserver", provider: "kubernetes" } },
        spec: {
          type: "ClusterIP",
          clusterIP: ip,
          clusterIPs: [ip],
          ipFamilies: [familyOf(ip)],
          ipFamilyPolicy: "SingleStack",
          sessionAffinity: "None",
          internalTrafficPolicy: "Cluster",
          ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: port }],
        },
      },
      (stored, { spec: { ports } }) => ({ ...stored, spec: { ...stored.spec, ports } }),
    ),
    want(
      Endpoints,
      {
        metadata: { ...metadata, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
        subsets: [{ addresses: [{ ip: advertiseAddress }], ports: [{ name: "https", port, protocol: "TCP" }] }],
      },
      (stored, { subsets }) => (areShared ? stored : { ...stored, subsets }),
    ),
    want(
      EndpointSlice,
      {
        metadata: { ...metadata, labels: { "kubernetes.io/service-name": "kubernetes" } },
        addressType: familyOf(advertiseAddress),
        endpoints: [{ addresses: [advertiseAddress], conditions: { ready: true } }],
        ports: [{ name: "https", port, protocol: "TCP" }],
      },
      (stored, { endpoints, ports }) => (areShared ? stored : { ...stored, endpoints, ports }),
    ),
    want(IPAddress, ipAddressOf(metadata, ip)),
    want(
      ServiceCIDR,
      {
        metadata: { name: "kubernetes", finalizers: ["networking.k8s.io/service-cidr-finalizer"] },
        spec: { cidrs: serviceCidrs },
        status: {
          conditions: [
            {
              type: "Ready",
              status: "True",
              reason: "",
              message: "Kubernetes default Service CIDR is ready",
              lastTransitionTime: timestamp(clock),
            },
          ],
        },
      },
      (stored, { spec: { cidrs = [] } }) =>
        stored.spec.cidrs?.length === 1 && cidrs.length === 2 && stored.spec.cidrs[0] === cidrs[0]
          ? { ...stored, spec: { ...stored.spec, cidrs } } // a second family was added to the flags
          : stored,
      { applied: { manager: "kubernetes-service-cidr-controller", field: "status", subresource: "status" } },
    ),
  ]
}

/**
 * The ConfigMap with the day since which the use of token Secrets is recorded. No token counts as unused before its use
 * has been recorded for a year.
 */
function tokenTracking({ clock }: BootstrapOptions): Wanted {
  return want(ConfigMap, { metadata: TRACKING, data: { [TRACKED_SINCE]: dayOf(clock) } }, (stored, wanted) =>
    startOfDay(stored.data?.[TRACKED_SINCE]) === undefined
      ? { ...stored, data: { ...stored.data, ...wanted.data } }
      : stored,
  )
}

function authenticationConfig(options: BootstrapOptions): readonly Wanted[] {
  if (options.clientCaPem === undefined) return []
  const dataOf = (stored: Readonly<Record<string, string>> = {}) =>
    authenticationData(stored, options, options.clock.now())
  return [
    want(ConfigMap, { metadata: AUTHENTICATION_CONFIG, data: dataOf() }, (stored) => ({
      ...stored,
      data: dataOf(stored.data),
    })),
  ]
}
