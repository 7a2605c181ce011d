import { X509Certificate } from "node:crypto"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Client } from "../../../pkg/client/client.ts"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { pemBlocks } from "../../../pkg/pki/der/pem.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import { storageKey } from "../cacher/view.ts"

/**
 * The ConfigMap that tells extension API servers which client certificates to trust. Source:
 * pkg/controlplane/controller/clusterauthenticationtrust.
 */
export const AUTHENTICATION_CONFIG = { namespace: "kube-system", name: "extension-apiserver-authentication" }

export interface Authorities {
  /** Authorities of client certificates and of the front proxy. Without the former the ConfigMap is not kept. */
  readonly clientCaPem?: string
  readonly frontProxyCaPem?: string
}

type Data = Readonly<Record<string, string>>

const CERTIFICATES: readonly string[] = ["client-ca-file", "requestheader-client-ca-file"]

const ownData = ({ clientCaPem, frontProxyCaPem }: Authorities): Data => ({
  ...(clientCaPem === undefined ? {} : { "client-ca-file": clientCaPem }),
  ...(frontProxyCaPem === undefined
    ? {}
    : {
        "requestheader-client-ca-file": frontProxyCaPem,
        "requestheader-allowed-names": `["system:auth-proxy"]`,
        "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
        "requestheader-group-headers": `["X-Remote-Group"]`,
        "requestheader-uid-headers": `["X-Remote-Uid"]`,
        "requestheader-username-headers": `["X-Remote-User"]`,
      }),
})

/**
 * Returns the data of the ConfigMap: the stored certificates that can be read and have not expired at `now` (ms), and
 * those of this server. Differs from upstream, which leaves a ConfigMap alone that it cannot read.
 */
export function authenticationData(stored: Data, authorities: Authorities, now: number): Data {
  const data = Object.entries(ownData(authorities)).map(([key, own]): [string, string] => [
    key,
    CERTIFICATES.includes(key) ? certificates(stored[key], own, now) : names(stored[key], own),
  ])
  return Object.fromEntries(data)
}

function certificates(stored = "", own: string, now: number): string {
  const kept = new Map<string, string>()
  for (const { label, bytes } of pemBlocks(`${stored.trimEnd()}\n${own}`)) {
    const certificate = label === "CERTIFICATE" ? read(bytes) : undefined
    if (certificate === undefined || Date.parse(certificate.validTo) < now) continue
    kept.set(certificate.fingerprint256, certificate.toString())
  }
  return [...kept.values()].join("")
}

function read(bytes: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(bytes)
  } catch {
    return undefined
  }
}

function names(stored = "[]", own: string): string {
  let given: unknown
  try {
    given = JSON.parse(stored)
  } catch {
    given = []
  }
  const all = [...(Array.isArray(given) ? given : []), ...(JSON.parse(own) as string[])]
  return JSON.stringify([...new Set(all.filter((name) => typeof name === "string"))])
}

export interface KeepOptions extends Authorities {
  readonly storage: Storage
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
}

/** A changed ConfigMap is restored once a minute, a deleted one at once. */
const ENSURE_MS = 60_000

/** Keeps the ConfigMap as the bootstrap created it. Returns the function that ends this. */
export function keepAuthenticationConfig(options: KeepOptions): () => void {
  const { storage, client, clock, log } = options
  if (options.clientCaPem === undefined) return () => undefined
  const key = storageKey(ConfigMap, AUTHENTICATION_CONFIG)
  const began = clock.monotonic()
  let timer: Timer | undefined

  const current = (): ConfigMap | undefined => storage.get(key)?.object as ConfigMap | undefined
  const isRight = (): boolean => {
    const { data = {} } = current() ?? {}
    const wanted = authenticationData(data, options, clock.now())
    return (
      Object.keys(data).length === Object.keys(wanted).length &&
      Object.keys(data).every((name) => data[name] === wanted[name])
    )
  }

  function ensure(): void {
    timer = undefined
    if (isRight()) return
    const stored = current()
    const data = authenticationData(stored?.data ?? {}, options, clock.now())
    const by = { fieldManager: "kube-apiserver" }
    const written =
      stored === undefined
        ? client.create(ConfigMap, { metadata: AUTHENTICATION_CONFIG, data }, by)
        : client.update(ConfigMap, { ...stored, data }, by)
    written.catch((error: unknown) => {
      // Another write came first; its event triggers another check.
      if (["Conflict", "NotFound", "AlreadyExists"].includes(ApiError.from(error).reason)) return
      log.error("Failed to correct the ConfigMap extension-apiserver-authentication", { error })
    })
  }

  const unsubscribe = storage.subscribe(
    (events) => {
      const change = events.findLast((event) => event.key === key)
      if (change === undefined || timer !== undefined || isRight()) return
      const wait = change.type === "delete" ? 0 : ENSURE_MS - ((clock.monotonic() - began) % ENSURE_MS)
      timer = clock.setTimeout(ensure, wait)
    },
    [key],
  )
  return () => {
    unsubscribe()
    timer?.cancel()
  }
}
