// A service worker that keeps what was fetched: the network first, the copy where there is none. Models are kept by the page's
// own worker (attend/wasm/worker.js), under an address with the stamp of their files.
const name = "attend-site";
const files = [];  // of the page of the models, by tools/site: kept from the first visit on
addEventListener("install", event => {
  skipWaiting();
  event.waitUntil(caches.open(name).then(cache => cache.addAll(files)).catch(() => {}));
});
addEventListener("activate", event => event.waitUntil(clients.claim()));
addEventListener("fetch", event => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== location.origin || request.url.includes("/models/")) return;
  event.respondWith(fetch(request).then(async response => {
    if (response.ok) await (await caches.open(name)).put(request, response.clone());
    return response;
  }).catch(async () => (await caches.match(request, { ignoreSearch: true })) || Response.error()));
});
