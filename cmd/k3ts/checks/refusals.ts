/** What a start would refuse only after it has written something, found before: a refused start leaves nothing behind. */
import { closeSync, existsSync, openSync } from "node:fs"
import { join } from "node:path"
import { passwordIn, passwordOf } from "../../../components/supervisor/join-tokens.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { fileError } from "../../../pkg/files/files.ts"
import { DEFAULT_ISSUER } from "../../../pkg/jwt/service-account.ts"
import { silent } from "../../../pkg/log/log.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { namingFlag } from "../cli/name-flag.ts"
import { UsageError } from "../cli/usage-error.ts"
import { serverFlags, type ServerFlags } from "../config/server-flags.ts"
import { admissionOf } from "../config/admission-flags.ts"
import { auditOf } from "../config/audit-flags.ts"
import { signInOf } from "../config/authentication-flags.ts"
import { furtherAuthoritiesOf } from "../config/authority-flags.ts"
import { authorizationOf } from "../config/authorization-flags.ts"
import { serviceAccountsOf } from "../config/service-account-flags.ts"
import { givenCertificatesOf } from "../config/tls-flags.ts"
import { datastoreOf } from "../datastore/flags.ts"
import { runsEtcd } from "../etcd/flags.ts"
import { joinTokensOf } from "../token/flags.ts"

/** @throws Error, or UsageError, that names the flag, its file and the mend */
export async function refuseBeforeWriting(flags: ServerFlags): Promise<void> {
  try {
    await refuseFaults(flags)
  } catch (err) {
    throw namingFlag(err, serverFlags, flags)
  }
}

async function refuseFaults(flags: ServerFlags): Promise<void> {
  const dir = join(flags["data-dir"], "server")
  refuseTokens(flags, dir)
  if (flags["runtime-config"].length > 0)
    (await import("../config/runtime-config.ts")).refuseRuntimeConfig(flags["runtime-config"], flags["feature-gates"])
  await refuseAudit(flags)
  await refuseAdmission(flags)
  await refuseCertificates(flags)
  await refuseUsers(flags)
  const datastore = datastoreOf(flags)
  if (datastore !== undefined)
    (await import("../../../components/apiserver/store/datastore-options.ts")).datastoreOptions(datastore, realClock)
  const { "secrets-encryption": secrets, "secrets-encryption-provider": provider } = flags
  const file = flags["encryption-provider-config"]
  const isShared = datastore !== undefined || runsEtcd(flags)
  if (secrets || file !== undefined || existsSync(join(dir, "cred"))) {
    const { refuseEncryption } = await import("../../../components/apiserver/encryption/refusals.ts")
    refuseEncryption(dir, { secrets, provider, file }, isShared)
  }
}

function refuseTokens(flags: ServerFlags, dir: string): void {
  const { serverToken, agentToken } = joinTokensOf(flags)
  if (flags.server !== undefined && serverToken === undefined)
    throw new UsageError("--server needs --token, which is in the file server/node-token of each server of the cluster")
  for (const [chosen, user, joinsAs] of [
    [serverToken, "server", "server"],
    [agentToken, "node", "agent"],
  ] as const)
    if (chosen === undefined) passwordIn(dir, joinsAs)
    else passwordOf(chosen, user)
}

async function refuseAdmission(flags: ServerFlags): Promise<void> {
  const options = admissionOf(flags)
  if (options === undefined) return
  ;(await import("../../../components/apiserver/admission/optional-plugins.ts")).checkNames(options)
  if (options.configFile !== undefined)
    (await import("../../../components/apiserver/admission/admission-configuration.ts")).readAdmissionConfiguration(
      options.configFile,
    )
}

async function refuseCertificates(flags: ServerFlags): Promise<void> {
  const { givenCertificates } = givenCertificatesOf(flags)
  if (givenCertificates === undefined) return
  const given = await import("../../../components/apiserver/serving/given/given-certificates.ts")
  given.refuseReserved(givenCertificates, given.reservedNames(flags["cluster-domain"]))
  given.readGivenCertificates(givenCertificates)
}

/** Refuses what is said of who signs in, and of who decides about requests. Nobody is asked yet. */
async function refuseUsers(flags: ServerFlags): Promise<void> {
  furtherAuthoritiesOf(flags)
  serviceAccountsOf(flags)
  const { signIn, anonymous, apiAudiences = [], issuers = [DEFAULT_ISSUER] } = signInOf(flags)
  const { authorization } = authorizationOf(flags)
  if (signIn === undefined && authorization === undefined) return
  const tools = { metrics: new Registry(), clock: realClock, random: systemRandom, log: silent }
  if (signIn !== undefined) {
    const { openSignIn } = await import("../../../components/apiserver/authentication/sign-in.ts")
    openSignIn({ config: signIn, ownIssuers: issuers, apiAudiences, anonymous, ...tools }).stop()
  }
  if (authorization !== undefined) {
    const open = await import("../../../components/apiserver/authorization/configured-authorization.ts")
    open.openAuthorization({ config: authorization, ...tools }).stop()
  }
}

async function refuseAudit(flags: ServerFlags): Promise<void> {
  const config = auditOf(flags)
  if (config === undefined) return
  if (config.policyFile !== undefined)
    (await import("../../../components/apiserver/audit/audit-policy.ts")).readAuditPolicy(config.policyFile)
  if (config.webhook !== undefined)
    (await import("../../../components/apiserver/webhooks/kubeconfig-webhook.ts")).readWebhookKubeconfig(
      config.webhook.configFile,
      "--audit-webhook-config-file",
    )
  if (config.log !== undefined && config.log.path !== "-") refuseAuditLog(config.log.path)
}

/** A log that is there already can be opened without a change. */
function refuseAuditLog(path: string): void {
  if (!existsSync(path)) return
  try {
    closeSync(openSync(path, "a"))
  } catch (err) {
    throw fileError("write", path, err)
  }
}
