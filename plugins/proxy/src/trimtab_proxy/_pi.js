// An extension of pi that `trimtab proxy` loads with `-e`: providers go through the proxy.
export default function (pi) {
  const base = process.env.TRIMTAB_PROXY_URL;
  if (!base) return;
  pi.registerProvider("anthropic", { baseUrl: `${base}/anthropic` });
  pi.registerProvider("openai", { baseUrl: `${base}/openai` });
  pi.registerProvider("google", { baseUrl: `${base}/gemini/v1beta` });
}
