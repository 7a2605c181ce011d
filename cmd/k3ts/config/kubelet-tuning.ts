import {
  isSignal,
  parseAmount,
  SIGNALS,
  type Amount,
  type Signal,
  type SoftThresholds,
  type Thresholds,
} from "../../../components/kubelet/model/thresholds.ts"
import {
  DEFAULT_TUNING,
  type EvictionTuning,
  type KubeletTuning,
  type Reserved,
} from "../../../components/kubelet/model/tuning.ts"
import { milliOf, parseQuantity, unitsOf } from "../../../pkg/apimachinery/scalars/quantity.ts"
import { UsageError } from "../cli/usage-error.ts"
import { counted, timed, type Setting } from "./kubelet-setting.ts"

/** Settings of eviction, reservations and images as they were given. */
export interface GivenTuning {
  readonly hard?: Thresholds
  readonly soft?: Thresholds
  readonly softGraceMs?: Readonly<Partial<Record<Signal, number>>>
  readonly mostGraceSeconds?: number
  readonly transitionMs?: number
  readonly kubeReserved?: Amounts
  readonly systemReserved?: Amounts
  readonly minimumReclaim?: Thresholds
  readonly imageMinAgeMs?: number
  readonly gcHighPercent?: number
  readonly gcLowPercent?: number
  readonly isSerial?: boolean
  readonly mostPulls?: number
}

/** Quantities by the resource. */
type Amounts = Readonly<Record<string, string>>

const RESERVABLE = ["cpu", "memory", "ephemeral-storage"]

const signals = (what: string): string => `${what}; signals are ${SIGNALS.join(", ")}`
const thresholds = (name: string, key: "hard" | "soft"): Setting<GivenTuning> => ({
  form: signals(`SIGNAL<AMOUNT,…, as in ${name}=memory.available<500Mi,nodefs.available<10%`),
  read: (given) => {
    const found = bySignal<Amount>(given, "<", parseAmount)
    return found && { [key]: found }
  },
})
const reservation = (name: string, key: "kubeReserved" | "systemReserved"): Setting<GivenTuning> => ({
  form: `RESOURCE=AMOUNT,… of ${RESERVABLE.join(", ")}, as in ${name}=cpu=200m,memory=500Mi`,
  read: (given) => {
    const pairs = pairsOf(given, "=")
    return pairs?.every(([name, text]) => RESERVABLE.includes(name) && (parseQuantity(text)?.nano ?? -1n) >= 0n)
      ? { [key]: Object.fromEntries(pairs) }
      : undefined
  },
})

/** Source: pkg/kubelet/eviction/helpers.go ParseThresholdConfig, cmd/kubelet/app/options/options.go. */
export const EVICTION_SETTINGS: Readonly<Record<string, Setting<GivenTuning>>> = {
  "eviction-hard": thresholds("eviction-hard", "hard"),
  "eviction-soft": thresholds("eviction-soft", "soft"),
  "eviction-soft-grace-period": {
    form: signals("SIGNAL=TIME,…, as in eviction-soft-grace-period=memory.available=1m30s"),
    read: (given) => {
      const softGraceMs = bySignal(given, "=", (text) => timed(text, (ms) => ms))
      return softGraceMs && { softGraceMs }
    },
  },
  "eviction-minimum-reclaim": {
    form: signals("SIGNAL=AMOUNT,…, as in eviction-minimum-reclaim=nodefs.available=10%,imagefs.available=2Gi"),
    read: (given) => {
      const minimumReclaim = bySignal(given, "=", parseAmount)
      return minimumReclaim && { minimumReclaim }
    },
  },
  "eviction-max-pod-grace-period": {
    form: "SECONDS, as in eviction-max-pod-grace-period=60",
    read: (given) => (/^\d{1,5}$/.test(given) ? { mostGraceSeconds: Number(given) } : undefined),
  },
  "eviction-pressure-transition-period": {
    form: "TIME, as in eviction-pressure-transition-period=1m30s",
    read: (given) => timed(given, (transitionMs) => ({ transitionMs })),
  },
  "kube-reserved": reservation("kube-reserved", "kubeReserved"),
  "system-reserved": reservation("system-reserved", "systemReserved"),
}

/** Source: pkg/kubelet/apis/config/validation/validation.go. */
export const IMAGE_SETTINGS: Readonly<Record<string, Setting<GivenTuning>>> = {
  "image-gc-high-threshold": percent("image-gc-high-threshold=85", (gcHighPercent) => ({ gcHighPercent })),
  "image-gc-low-threshold": percent("image-gc-low-threshold=80", (gcLowPercent) => ({ gcLowPercent })),
  "minimum-image-ttl-duration": minimumAge("minimum-image-ttl-duration"),
  "image-minimum-gc-age": minimumAge("image-minimum-gc-age"),
  "serialize-image-pulls": {
    form: "true or false",
    read: (given) => (given === "true" || given === "false" ? { isSerial: given === "true" } : undefined),
  },
  "max-parallel-image-pulls": {
    form: "COUNT, as in max-parallel-image-pulls=5",
    read: (given) => counted(given, (mostPulls) => ({ mostPulls })),
  },
}

/** Source: defaults of imageGCHighThresholdPercent and imageGCLowThresholdPercent. */
const [HIGH_PERCENT, LOW_PERCENT] = [85, 80]

/** Joins what was given; the later counts for each signal and resource. @throws UsageError */
export function joinedTuning(
  given: readonly GivenTuning[],
): Pick<KubeletTuning, "eviction" | "minimumReclaim" | "reserved" | "imageMinAgeMs" | "imageGc" | "mostPulls"> {
  const one = given.reduce<GivenTuning>((all, next) => ({ ...all, ...next }), {})
  return {
    eviction: evictionOf(given, one),
    minimumReclaim: Object.assign({}, ...given.map(({ minimumReclaim }) => minimumReclaim)) as Thresholds,
    imageMinAgeMs: one.imageMinAgeMs ?? DEFAULT_TUNING.imageMinAgeMs,
    reserved: reservedOf(given),
    imageGc: imageGcOf(one),
    mostPulls: pullsOf(one),
  }
}

function evictionOf(
  given: readonly GivenTuning[],
  {
    mostGraceSeconds = DEFAULT_TUNING.eviction.mostGraceSeconds,
    transitionMs = DEFAULT_TUNING.eviction.transitionMs,
  }: GivenTuning,
): EvictionTuning {
  const merged = <K extends "hard" | "soft" | "softGraceMs">(key: K) =>
    given.reduce<NonNullable<GivenTuning[K]>>(
      (all, one) => ({ ...all, ...one[key] }),
      {} as NonNullable<GivenTuning[K]>,
    )
  const [hard, amounts, graces] = [merged("hard"), merged("soft"), merged("softGraceMs")]
  const soft: SoftThresholds = Object.fromEntries(
    Object.entries(amounts).map(([signal, amount]) => {
      const graceMs = graces[signal as Signal]
      if (graceMs === undefined)
        throw new UsageError(
          `--kubelet-arg eviction-soft=${signal}: needs a grace, as in ` +
            `--kubelet-arg eviction-soft-grace-period=${signal}=1m30s`,
        )
      return [signal, { amount, graceMs }]
    }),
  )
  // As upstream, thresholds that are given replace all defaults.
  return {
    hard: Object.keys(hard).length > 0 ? hard : DEFAULT_TUNING.eviction.hard,
    soft,
    mostGraceSeconds,
    transitionMs,
  }
}

function reservedOf(given: readonly GivenTuning[]): Reserved {
  const [kube, system] = (["kubeReserved", "systemReserved"] as const).map((key) =>
    given.reduce<Amounts>((all, one) => ({ ...all, ...one[key] }), {}),
  )
  const sum = (resource: string, of: (text: string) => number) =>
    of(kube?.[resource] ?? "0") + of(system?.[resource] ?? "0")
  return {
    cpuMilli: sum("cpu", milliOf),
    memoryBytes: sum("memory", unitsOf),
    diskBytes: sum("ephemeral-storage", unitsOf),
  }
}

function imageGcOf({ gcHighPercent, gcLowPercent }: GivenTuning): KubeletTuning["imageGc"] {
  if (gcHighPercent === undefined && gcLowPercent === undefined) return undefined
  const [highPercent, lowPercent] = [gcHighPercent ?? HIGH_PERCENT, gcLowPercent ?? LOW_PERCENT]
  if (lowPercent >= highPercent)
    throw new UsageError(
      `--kubelet-arg image-gc-low-threshold=${lowPercent}: must be less than image-gc-high-threshold, which is ` +
        `${highPercent}`,
    )
  return { highPercent, lowPercent }
}

function pullsOf({ isSerial, mostPulls }: GivenTuning): number {
  if (isSerial !== true) return mostPulls ?? DEFAULT_TUNING.mostPulls
  if (mostPulls !== undefined && mostPulls > 1)
    throw new UsageError(
      `--kubelet-arg max-parallel-image-pulls=${mostPulls}: must be 1 with serialize-image-pulls=true; leave that out`,
    )
  return 1
}

/** Reads `KEY<sign>VALUE,…`; undefined where a part has another form, or a key comes twice. */
function pairsOf(given: string, sign: string): readonly (readonly [string, string])[] | undefined {
  const pairs = given.split(",").map((part) => {
    const at = part.indexOf(sign)
    return at < 1 ? undefined : ([part.slice(0, at).trim(), part.slice(at + 1).trim()] as const)
  })
  const whole = pairs.filter((pair) => pair !== undefined)
  return whole.length < pairs.length || new Set(whole.map(([key]) => key)).size < pairs.length ? undefined : whole
}

function bySignal<T>(
  given: string,
  sign: string,
  read: (text: string) => T | undefined,
): Readonly<Partial<Record<Signal, T>>> | undefined {
  const found: Partial<Record<Signal, T>> = {}
  for (const [signal, text] of pairsOf(given, sign) ?? [["", ""]]) {
    const value = read(text)
    if (!isSignal(signal) || value === undefined) return undefined
    found[signal] = value
  }
  return found
}

function minimumAge(name: string): Setting<GivenTuning> {
  return {
    form: `TIME, as in ${name}=10m`,
    read: (given) => timed(given, (imageMinAgeMs) => ({ imageMinAgeMs })),
  }
}

function percent(example: string, made: (percent: number) => GivenTuning): Setting<GivenTuning> {
  return {
    form: `PERCENT of 0 to 100, as in ${example}`,
    read: (given) => (/^\d{1,3}$/.test(given) && Number(given) <= 100 ? made(Number(given)) : undefined),
  }
}
