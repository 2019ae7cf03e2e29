"""The words by which a touch that pays, buys, deletes or sends money is known: lists, no code.

Accents and capitals do not matter. A word too many costs a question; one that is missing costs
somebody's money, or what they kept.
"""

# A line is one language. `word` stands for a whole word, `word*` for how one begins, and `*word*`
# for a part of one, which is how words are put together in names and in some languages.
WORDS = """
*delete* *uninstall* *erase* *wipe* *purchase* *checkout* *discard* *pay* paid *buy* *remove*
removing factory reset transfer trash overwrite donate donation withdraw withdrawal unfriend
deactivate subscribe unsubscribe recharge
*loschen* *loesche* losch* *bezahl* zahlen
zahlung* *kaufen* kaufe kauf kostenpflichtig* *bestellen*
*uberweis* *entfernen* spenden kundigen kundigung *deinstallier* zurucksetzen zahlungspflichtig*
*supprim* effacer payer paiement* acheter achat achats commander *desinstall* virement resilier
reinitialiser vider
*eliminar* elimina eliminare borrar borra pagar pagalo pago pagos comprar compra transferir
transferencia desinstalar restablecer vaciar donar
cancella cancellare paga pagare pagamento acquista acquistare acquisto bonifico disinstalla svuota
ripristina rimuovi rimuovere
excluir apagar remover pagamento doar limpar desinstalar
удал* *удалить* оплат* *плат* купить купи покуп* стереть очистить заказать пожертв*
видал* сплат* *платити* купити
sil silin silmek ode odeme* odeyin kaldir havale sifirla satinal
usun usuwa* skasuj zaplac* *platnosc* kup kupuj kupic przelew* przelej
odinstaluj zamow zamawiam wyczysc
*verwijder* betaal betaald betalen *betaling* koop kopen bestellen bestel overmaken overboeken
wissen
hapus bayar beli pembayaran xoa mua radera betala kop slet slett betal kob kjop smazat zaplatit
koupit poista maksa osta διαγραφη πληρωμη
"""
PHRASES = """
place order|order now|place bid|place bet|book now|send money|send payment|transfer money|top up
format sd|format card|format storage|format disk
clear data|clear all
clear history|clear storage|empty trash|empty bin|bin it|close account
cancel subscription|one click|1 click|slide to pay|tap to pay|confirm purchase|confirm order
geld senden|geld uberweisen|konto schliessen|envoyer de l argent|vider la corbeille|enviar dinero
invia denaro|effettua ordine|enviar dinheiro|finalizar compra|finalizar pedido|realizar pedido
перевести деньги|перевод денег|перевод средств|отправить деньги|оформить заказ
para gonder|satin al|siparis ver|hesabi
kapat|wyslij pieniadze|kup teraz|geld sturen|geld overmaken
thanh toan|chuyen tien|ta bort|kirim uang
"""
PARTS = """
删除 刪除 支付 付款 购买 購買 转账 轉帳 轉賬 下单 下單 结账 結帳 結賬
清空 卸载 解除安裝 充值 提现 打赏 付费 付費 买单
買單 提交订单 确认订单 汇款 匯款 注销 恢复出厂 格式化 抹掉 移除
削除 購入 支払 決済 送金 振込 注文を確定 注文する
消去 買う 初期化 アンインストール 退会 課金 寄付 払う
삭제 결제 구매 송금 이체 주문하기 지불 초기화 탈퇴 구입 제거
حذف احذف دفع شراء اشتر إزالة تحويل_الأموال إرسال_الأموال تبرع
ลบ ชำระ จ่าย ซื้อ โอนเงิน हटा भुगतान खरीद मिटा מחק תשלום לשלם קנה
"""
# What looks like one of the above and is none.
NOT = """deleted display replay payload spray repay безоплатн бесплатн платформ"""
