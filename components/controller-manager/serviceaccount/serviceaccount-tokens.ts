import {
  SERVICE_ACCOUNT_NAME,
  SERVICE_ACCOUNT_TOKEN,
  SERVICE_ACCOUNT_UID,
} from "../../../pkg/api/core/v1/secret/legacy-tokens.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { isConflict, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { splitKey, type Key } from "../../../pkg/client/informer.ts"
import { defineController, type Controller, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import type { LegacyTokenRequest } from "../../../pkg/jwt/legacy-token.ts"

export interface TokensControllerOptions {
  readonly caPem: () => string
  readonly signToken: (request: LegacyTokenRequest) => string
}

/** The service account that a Secret names, with its uid if known. */
interface AccountRef {
  readonly name: string
  readonly uid: string | undefined
}

/**
 * Fills Secrets of type kubernetes.io/service-account-token with a token, the cluster's CA and the namespace, and
 * deletes those whose account is gone. Source: pkg/controller/serviceaccount/tokens_controller.go.
 */
export function serviceAccountTokens(options: TokensControllerOptions): Controller<Secret> {
  /** Service accounts of known Secrets, for when a Secret is deleted. */
  const accounts = new Map<Key, AccountRef>()
  return defineController<Secret>({
    name: "serviceaccount-token-controller",
    reconciles: Secret,
    concerns: ({ type }) => type === SERVICE_ACCOUNT_TOKEN,
    watches: [
      {
        resource: ServiceAccount,
        keys: ({ metadata: { namespace, name } }, { informers }, _old, deleted) =>
          deleted
            ? informers
                .of(Secret)
                .by(tokensByAccount, `${namespace}/${name}`)
                .map((secret) => `${namespace}/${secret.metadata.name}`)
            : [],
      },
    ],
    async reconcile(key, context) {
      const secret = context.informers.of(Secret).get(key)
      if (secret === undefined) {
        const account = accounts.get(key)
        if (account !== undefined) await removeReference(key, account, context)
        accounts.delete(key)
        return
      }
      const account = accountOf(secret)
      accounts.set(key, account)
      const found = await findAccount(secret, account, context)
      if (found === undefined) await remove(secret, context)
      else await fill(secret, found, options, context)
    },
  })
}

const tokensByAccount = {
  name: "service account tokens by account",
  of: (secret: Secret): readonly string[] =>
    secret.type === SERVICE_ACCOUNT_TOKEN ? [`${secret.metadata.namespace}/${accountOf(secret).name}`] : [],
}

const accountOf = ({ metadata: { annotations = {} } }: Secret): AccountRef => ({
  name: annotations[SERVICE_ACCOUNT_NAME] ?? "",
  uid: annotations[SERVICE_ACCOUNT_UID] || undefined,
})

/** Reads the service account from the API when the informer does not show it yet. */
async function findAccount(
  { metadata: { namespace } }: Secret,
  { name, uid }: AccountRef,
  { informers, client }: ReconcileContext,
): Promise<ServiceAccount | undefined> {
  const isIt = (account: ServiceAccount | undefined) =>
    account !== undefined && (uid === undefined || uid === account.metadata.uid)
  const seen = informers.of(ServiceAccount).get(`${namespace}/${name}`)
  if (isIt(seen)) return seen
  try {
    const live = await client.get(ServiceAccount, { namespace, name })
    return isIt(live) ? live : undefined
  } catch (err) {
    if (isNotFound(err)) return undefined
    throw err
  }
}

async function remove({ metadata }: Secret, { client }: ReconcileContext): Promise<void> {
  try {
    await client.delete(Secret, metadata, metadata.uid === undefined ? {} : { preconditions: { uid: metadata.uid } })
  } catch (err) {
    if (!isNotFound(err) && !isConflict(err)) throw err
  }
}

async function fill(
  secret: Secret,
  account: ServiceAccount,
  { caPem, signToken }: TokensControllerOptions,
  { client }: ReconcileContext,
): Promise<void> {
  const { metadata, data = {} } = secret
  const { namespace = "", name: secretName = "" } = metadata
  const serviceAccount = { name: account.metadata.name ?? "", uid: account.metadata.uid ?? "" }
  const ca = base64(caPem())
  if (data["ca.crt"] === ca && data["namespace"] && data["token"]) return
  try {
    await client.update(Secret, {
      ...secret,
      metadata: {
        ...metadata,
        annotations: {
          ...metadata.annotations,
          [SERVICE_ACCOUNT_NAME]: serviceAccount.name,
          [SERVICE_ACCOUNT_UID]: serviceAccount.uid,
        },
      },
      data: {
        ...data,
        "ca.crt": ca,
        namespace: data["namespace"] || base64(namespace),
        token: data["token"] || base64(signToken({ namespace, serviceAccount, secretName })),
      },
    })
  } catch (err) {
    // The object was changed concurrently; the event of that change leads here again.
    if (!isNotFound(err) && !isConflict(err)) throw err
  }
}

/** Removes a deleted Secret from the list of its service account. */
async function removeReference(
  key: Key,
  { name, uid }: AccountRef,
  { informers, client }: ReconcileContext,
): Promise<void> {
  const { namespace, name: secretName } = splitKey(key)
  const account = informers.of(ServiceAccount).get(`${namespace}/${name}`)
  if (account === undefined || (uid !== undefined && uid !== account.metadata.uid)) return
  const secrets = account.secrets?.filter((secret) => secret.name !== secretName) ?? []
  if (secrets.length === (account.secrets?.length ?? 0)) return
  try {
    await client.update(ServiceAccount, { ...account, secrets })
  } catch (err) {
    if (!isNotFound(err)) throw err
  }
}

const base64 = (text: string): string => Buffer.from(text).toString("base64")
